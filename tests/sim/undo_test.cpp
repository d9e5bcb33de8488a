// Tests of sim/undo.{h,cpp}: whatever happened, the state comes back exactly; what did not change is not loaded.
#include "sim/undo.h"

#include <doctest/doctest.h>

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/kernel.h"

namespace {

using namespace sim;

// One of every form of field.
struct EveryForm {
    struct Element {
        u32 a = 0;
        std::string text;
        void visit(StateVisitor& v) {
            v.field("a", a);
            v.field("text", text);
        }
    };
    u64 word = 0;
    bool flag = false;
    std::string text;
    std::vector<u8> bytes;
    std::vector<u32> words;
    std::vector<bool> bits;
    std::array<u16, 5> fixed{};
    std::array<Element, 2> elements{};
    std::vector<Element> list;
    std::deque<u64> queue;
    std::optional<u32> maybe;
    std::set<u32> set;
    std::map<u32, Element> map;
    void visit(StateVisitor& v) {
        v.field("word", word);
        v.field("flag", flag);
        v.field("text", text);
        v.field("bytes", bytes);
        v.field("words", words);
        v.field("bits", bits);
        v.field("fixed", fixed);
        v.field("elements", elements);
        v.field("list", list);
        v.field("queue", queue);
        v.field("maybe", maybe);
        v.field("set", set);
        v.field("map", map);
    }
    void change(RandomStream& random) {
        switch (random.below(13)) {
            case 0:
                word = random.next();
                break;
            case 1:
                flag = !flag;
                break;
            case 2:
                text.assign(random.below(20), 'x');
                break;
            case 3:
                bytes.resize(random.below(30), 7);
                break;
            case 4:
                words.resize(random.below(30), 9);
                break;
            case 5:
                bits.resize(random.below(30), true);
                break;
            case 6:
                fixed[random.below(5)] = static_cast<u16>(random.next());
                break;
            case 7:
                elements[random.below(2)].text += "y";
                break;
            case 8:
                list.resize(random.below(6));
                break;
            case 9:
                queue.push_back(random.next());
                break;
            case 10:
                if (maybe)
                    maybe.reset();
                else
                    maybe = 5;
                break;
            case 11:
                set.insert(static_cast<u32>(random.below(9)));
                break;
            default:
                map[static_cast<u32>(random.below(9))].a += 1;
                break;
        }
    }
};

// Owns two parts, with a word of its own before, between and behind them.
struct Owner {
    EveryForm left, right;
    std::array<u64, 3> own{};
    SparseMemory memory{"memory", 1 << 20};
    void visit(StateVisitor& v) {
        v.field("before", own[0]);
        v.part("left", left);
        v.field("between", own[1]);
        v.part("right", right);
        v.field("behind", own[2]);
        v.field("memory", memory);
    }
};

struct Undone {
    Kernel kernel;
    std::unique_ptr<Owner> owner = std::make_unique<Owner>();
    StateList states;
    Undone() {
        states.add("kernel", kernel);
        states.add("owner", *owner);
    }
    void change(RandomStream& random) {
        switch (random.below(5)) {
            case 0:
                owner->left.change(random);
                break;
            case 1:
                owner->right.change(random);
                break;
            case 2:
                owner->own[random.below(3)] = random.next();
                break;
            case 3:
                owner->memory.write_u64(8 * random.below(owner->memory.size() / 8), random.next());
                break;
            default:
                kernel.unmodelled().refused("thing", kernel.now());
                break;
        }
    }
};

}  // namespace

TEST_CASE("undo: a thousand changes, of every form of field, leave nothing behind") {
    Undone machine;
    RandomStream random(1, "test", "undo");
    for (int i = 0; i < 100; ++i) machine.change(random);
    Undo clean(machine.states);
    const Snapshot before = Snapshot::save(machine.states);
    const Digest128 digest = machine.states.digest();
    for (int round = 0; round < 200; ++round) {
        const u64 changes = random.below(12);
        for (u64 i = 0; i < changes; ++i) machine.change(random);
        if (round % 50 == 49) machine.owner->memory.clear();
        clean.restore();
        CHECK(before.diff_with(machine.states).empty());
        CHECK(machine.states.digest() == digest);
    }
}

TEST_CASE("undo: only parts that differ are loaded") {
    Undone machine;
    Undo clean(machine.states);
    clean.restore();
    CHECK(clean.parts_loaded() == 0);
    machine.owner->right.word = 5;
    clean.restore();
    CHECK(clean.parts_loaded() == 2);  // the part and its owner
    CHECK(machine.owner->right.word == 0);
    machine.owner->left.words.assign(4, 1);
    machine.owner->right.list.resize(3);
    clean.restore();
    CHECK(clean.parts_loaded() == 3);
    CHECK(machine.owner->left.words.empty());
    CHECK(machine.owner->right.list.empty());
}
