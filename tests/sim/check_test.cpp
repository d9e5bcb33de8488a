// Tests of sim/check.{h,cpp}: what a failing check prints and does.
#include "sim/check.h"

#include <doctest/doctest.h>

#include <cstdio>
#include <string>

#include "sim/digest.h"

namespace {

struct Failed {};

// Runs `body` with a failure handler that throws, and returns what was written to standard error.
template <typename Body>
std::string banner_of(Body body) {
    std::fflush(stderr);
    std::FILE* real = stderr;
    char* text = nullptr;
    std::size_t length = 0;
    std::FILE* memory = open_memstream(&text, &length);
    stderr = memory;
    sim::set_failure_handler([] { throw Failed{}; });
    bool failed = false;
    try {
        body();
    } catch (const Failed&) {
        failed = true;
    }
    sim::set_failure_handler(nullptr);
    stderr = real;
    std::fclose(memory);
    std::string banner(text, length);
    std::free(text);
    CHECK(failed == !banner.empty());
    return banner;
}

class Context final : public sim::FailureContext {
public:
    std::string describe_now() const override { return "time 1 us\nlast records:\n  none"; }
};

class FailingContext final : public sim::FailureContext {
public:
    std::string describe_now() const override {
        SIM_CHECK(broken_);
        return {};
    }

private:
    bool broken_ = false;
};

enum class Colour : sim::u8 { Red = 3 };

TEST_CASE("a check that holds prints nothing and evaluates its condition once") {
    int calls = 0;
    CHECK(banner_of([&] { SIM_CHECK(++calls > 0, calls); }).empty());
    CHECK(calls == 1);
}

TEST_CASE("a failing check names condition, operands, place, run and the command that repeats it") {
    Context context;
    const sim::FailureContext* before = sim::set_failure_context(&context);
    sim::set_repro_command("tu104sim replay x.trace --seed 5");
    int entry_index = 17;
    std::string banner = banner_of([&] { SIM_CHECK(entry_index < 16, entry_index, std::string("a,b").size()); });
    sim::set_repro_command({});
    CHECK(sim::set_failure_context(before) == &context);
    CHECK(banner.rfind("our bug: entry_index < 16  [entry_index=17 std::string(\"a,b\").size()=3]\n  at ", 0) == 0);
    CHECK(banner.find("check_test.cpp:") != std::string::npos);
    CHECK(banner.find("\n  time 1 us\n  last records:\n    none\n") != std::string::npos);
    CHECK(banner.find("\n  reproduce: tu104sim replay x.trace --seed 5\n") != std::string::npos);
}

TEST_CASE("a check that fails while describing a failure does not describe again") {
    FailingContext context;
    const sim::FailureContext* before = sim::set_failure_context(&context);
    std::string banner = banner_of([] { SIM_CHECK(false); });
    sim::set_failure_context(before);
    CHECK(banner.find("our bug: ") == 0);
}

TEST_CASE("operands are printed by kind") {
    sim::u8 byte = 65;
    sim::u64 address = 0x200000;
    std::string text = sim::format_operands("byte, address, Colour::Red, true, -1, t, d", byte, address, Colour::Red,
                                            true, -1, sim::SimTime{7}, sim::Digest128{1, 0});
    CHECK(text ==
          "byte=65 address=0x200000 Colour::Red=3 true=true -1=-1 t=7ps d=00000000000000000000000000000001");
    CHECK(sim::format_operands("") == "");
}

}  // namespace
