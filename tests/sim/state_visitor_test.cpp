// Tests of sim/state_visitor*.{h,cpp}, state_stream, state_diff and snapshot: every form goes there and back, every
// change is seen, and no damage is believed.
#include "sim/state_visitor.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "sim/snapshot.h"
#include "sim/state_visitors.h"

namespace {

using sim::LoadVisitor;
using sim::SaveVisitor;
using sim::StateVisitor;
using sim::u64;
using sim::u8;

enum class Mode : u8 { Off = 0, On = 1 };

struct Inner {
    sim::u32 x = 0;
    void visit(StateVisitor& v) { v.field("x", x); }
    friend bool operator==(const Inner&, const Inner&) = default;
};

// One field of every form.
struct Everything {
    bool flag = false;
    u8 byte = 0;
    sim::i32 number = 0;
    u64 word = 0;
    Mode mode = Mode::Off;
    sim::SimTime time;
    std::string text;
    std::vector<u8> blob;
    std::array<u8, 4> raw{};
    std::array<Inner, 2> pair_of{};
    std::vector<std::vector<sim::u16>> nested;
    std::vector<bool> bits;
    std::deque<Inner> queue;
    std::optional<Inner> maybe;
    std::pair<sim::u32, std::string> both;
    std::set<sim::u32> numbers;
    std::map<std::string, Inner> by_name;
    std::map<u64, std::vector<u8>, std::greater<>> by_number;

    void visit(StateVisitor& v) {
        v.field("flag", flag);
        v.field("byte", byte);
        v.field("number", number);
        v.field("word", word);
        v.field("mode", mode);
        v.field("time", time);
        v.field("text", text);
        v.field("blob", blob);
        v.field("raw", raw);
        v.field("pair_of", pair_of);
        v.field("nested", nested);
        v.field("bits", bits);
        v.field("queue", queue);
        v.field("maybe", maybe);
        v.field("both", both);
        v.field("numbers", numbers);
        v.field("by_name", by_name);
        v.field("by_number", by_number);
    }
    friend bool operator==(const Everything&, const Everything&) = default;
};

Everything example() {
    Everything e;
    e.flag = true;
    e.byte = 200;
    e.number = -5;
    e.word = ~u64{0};
    e.mode = Mode::On;
    e.time = {123456};
    e.text = "hello";
    e.blob = {1, 2, 3};
    e.raw = {9, 8, 7, 6};
    e.pair_of = {Inner{1}, Inner{2}};
    e.nested = {{1, 2}, {}, {65535}};
    e.bits = {true, false, true};
    e.queue = {Inner{5}};
    e.maybe = Inner{6};
    e.both = {7, "seven"};
    e.numbers = {3, 1};
    e.by_name = {{"a", Inner{10}}, {"b", Inner{11}}};
    e.by_number = {{2, {1}}, {1, {2}}};
    return e;
}

template <typename T>
std::vector<u8> saved(T& value) {
    SaveVisitor visitor;
    value.visit(visitor);
    return visitor.saved();
}

template <typename T>
std::string load_into(T& value, std::span<const u8> bytes) {
    LoadVisitor visitor(bytes);
    value.visit(visitor);
    visitor.finish();
    return visitor.error();
}

template <typename T>
sim::Digest128 digest_of(T& value) {
    sim::DigestVisitor visitor;
    value.visit(visitor);
    return visitor.digest();
}

TEST_CASE("every form survives save and load, into a fresh and into a used object") {
    Everything original = example();
    std::vector<u8> bytes = saved(original);
    Everything fresh;
    CHECK(load_into(fresh, bytes) == "");
    CHECK(fresh == original);
    Everything used = example();
    used.by_name["c"] = Inner{1};
    used.nested.clear();
    used.maybe.reset();
    CHECK(load_into(used, bytes) == "");
    CHECK(used == original);
    CHECK(saved(fresh) == bytes);
}

TEST_CASE("every change is seen by digest and diff, and named") {
    struct Change {
        void (*apply)(Everything&);
        const char* line;
    };
    const Change changes[] = {
        {[](Everything& e) { e.flag = false; }, "flag: 0x1 -> 0x0"},
        {[](Everything& e) { e.byte = 1; }, "byte: 0xc8 -> 0x1"},
        {[](Everything& e) { e.number = 0; }, "number: 0xfffffffffffffffb -> 0x0"},
        {[](Everything& e) { e.word = 0; }, "word: 0xffffffffffffffff -> 0x0"},
        {[](Everything& e) { e.mode = Mode::Off; }, "mode: 0x1 -> 0x0"},
        {[](Everything& e) { e.time = {}; }, "time: 0x1e240 -> 0x0"},
        {[](Everything& e) { e.text = "hallo"; }, "text: \"hello\" -> \"hallo\""},
        {[](Everything& e) { e.blob[1] = 0; }, "blob byte 0x1: 0x02 -> 0x00"},
        {[](Everything& e) { e.blob.pop_back(); }, "blob byte 0x2: 0x03 -> absent"},
        {[](Everything& e) { e.raw[3] = 0; }, "raw byte 0x3: 0x06 -> 0x00"},
        {[](Everything& e) { e.pair_of[1].x = 0; }, "pair_of[1].x: 0x2 -> 0x0"},
        {[](Everything& e) { e.nested[1].push_back(4); }, "nested[1][0]: absent -> 0x4"},
        {[](Everything& e) { e.nested.pop_back(); }, "nested[2]: 1 elements -> absent"},
        {[](Everything& e) { e.bits[0] = false; }, "bits byte 0x0: 0x01 -> 0x00"},
        {[](Everything& e) { e.queue.clear(); }, "queue[0]: present -> absent"},
        {[](Everything& e) { e.maybe.reset(); }, "maybe[0]: present -> absent"},
        {[](Everything& e) { e.both.second = "x"; }, "both.second: \"seven\" -> \"x\""},
        {[](Everything& e) { e.numbers.insert(9); }, "numbers[2]: absent -> 0x9"},
        {[](Everything& e) { e.by_name["b"].x = 0; }, "by_name[\"b\"].x: 0xb -> 0x0"},
        {[](Everything& e) { e.by_name.erase("a"); }, "by_name[\"a\"]: present -> absent"},
        {[](Everything& e) { e.by_number[3] = {}; }, "by_number[0x3]: absent -> \"\""},
    };
    Everything original = example();
    std::vector<u8> bytes = saved(original);
    sim::Digest128 digest = digest_of(original);
    for (const Change& change : changes) {
        Everything changed = example();
        change.apply(changed);
        CHECK_MESSAGE(digest_of(changed) != digest, change.line);
        sim::DiffVisitor diff;
        changed.visit(diff);
        CHECK(diff.differences(bytes) == std::vector<std::string>{change.line});
        CHECK(load_into(changed, bytes) == "");
        CHECK(digest_of(changed) == digest);
    }
    sim::DiffVisitor same;
    original.visit(same);
    CHECK(same.differences(bytes).empty());
}

TEST_CASE("a loaded value must fit its type, and the message names the place") {
    struct Narrow {
        std::vector<Inner> regs;
        void visit(StateVisitor& v) { v.field("regs", regs); }
    };
    sim::StateWriter writer;
    writer.list("regs", 2);
    for (u64 value : {u64{1}, u64{1} << 32}) {
        writer.begin("");
        writer.word("x", value);
        writer.end();
    }
    writer.end();
    Narrow narrow;
    CHECK(load_into(narrow, writer.written()) == "regs[1].x: out of range");
    CHECK(narrow.regs.empty());

    struct Flag {
        bool flag = false;
        void visit(StateVisitor& v) { v.field("flag", flag); }
    };
    sim::StateWriter two;
    two.word("flag", 2);
    Flag flag;
    CHECK(load_into(flag, two.written()) == "flag: out of range");
}

TEST_CASE("another shape is refused by field") {
    Inner inner{5};
    sim::StateWriter renamed;
    renamed.word("y", 1);
    CHECK(load_into(inner, renamed.written()) == "x: found \"y\" of another kind or name");
    sim::StateWriter wrong_kind;
    wrong_kind.bytes("x", {});
    CHECK(load_into(inner, wrong_kind.written()) == "x: found \"x\" of another kind or name");
    CHECK(load_into(inner, {}) == "x: the state ends early");
    sim::StateWriter more;
    more.word("x", 1);
    more.word("z", 1);
    CHECK(load_into(inner, more.written()) == "state: \"z\" follows the last field");
}

TEST_CASE("a count that lies is refused before anything is allocated for it") {
    struct List {
        std::vector<u64> words;
        void visit(StateVisitor& v) { v.field("words", words); }
    };
    sim::StateWriter writer;
    writer.list("words", u64{1} << 60);
    writer.word("", 1);
    List list;
    CHECK(load_into(list, writer.written()) == "words: more elements than bytes are left");
    CHECK(list.words.empty());
}

TEST_CASE("maps and sets with repeated keys are refused") {
    struct Map {
        std::map<u64, u64> map;
        void visit(StateVisitor& v) { v.field("map", map); }
    };
    sim::StateWriter writer;
    writer.map("map", 2);
    for (int i = 0; i < 4; ++i) writer.word("", 1);
    writer.end();
    Map map;
    CHECK(load_into(map, writer.written()).find("the same key twice") != std::string::npos);
}

TEST_CASE("any single damaged byte and any truncation gives an error or a clean load, in every reader") {
    Everything original = example();
    std::vector<u8> bytes = saved(original);
    unsigned refused = 0;
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        for (unsigned flip : {1u, 2u, 0x80u, 0xffu}) {
            std::vector<u8> damaged = bytes;
            damaged[at] = static_cast<u8>(damaged[at] ^ flip);
            Everything target;
            if (load_into(target, damaged) != "") ++refused;
            CHECK_FALSE(sim::diff_streams(bytes, damaged).empty());
        }
        Everything target;
        CHECK(load_into(target, std::span<const u8>(bytes).first(at)) != "");
        CHECK_FALSE(sim::diff_streams(bytes, std::span<const u8>(bytes).first(at)).empty());
    }
    CHECK(refused > 2 * bytes.size());
}

TEST_CASE("a stream nested without end is refused by diff") {
    sim::StateWriter writer;
    for (int i = 0; i < 100'000; ++i) writer.begin("a");
    CHECK(sim::diff_streams(writer.written(), writer.written()) ==
          std::vector<std::string>{"old: scopes are nested too deeply"});
}

TEST_CASE("diff keeps to its limit and counts the rest") {
    struct List {
        std::vector<u64> words;
        void visit(StateVisitor& v) { v.field("words", words); }
    };
    List a{std::vector<u64>(10, 1)};
    List b{std::vector<u64>(10, 2)};
    CHECK(sim::diff_streams(saved(a), saved(b), 2) ==
          std::vector<std::string>{"words[0]: 0x1 -> 0x2", "words[1]: 0x1 -> 0x2", "... and 8 more"});
}

}  // namespace
