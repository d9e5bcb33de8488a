// A fuzz target: one function that takes any bytes. libFuzzer, AFL++ and the plain replayer call it through the same
// table (targets.def); a finding is a crash, a sanitizer's report, or FUZZ_CHECK.
#pragma once

#include <span>
#include <string_view>

#include "sim/types.h"

namespace fuzz {

using namespace sim;

// What an input reaches, which decides how fast a target must be.
enum class Surface : u8 { Decoder, Container, Device };

struct Target {
    std::string_view name;  // also the folder of its seeds, seeds/NAME
    std::string_view what;
    void (*run)(std::span<const u8> input);
    // The bytes that inputs are made of, for mutation and dictionaries: 1, 4, 8 or 16.
    u32 unit_bytes;
    Surface surface;
};

std::span<const Target> all_targets();
// nullptr when there is none of that name.
const Target* find_target(std::string_view name);

// The words that a dictionary has for a target, as byte strings, in table order.
void each_dictionary_word(const Target& target, void (*use)(void* context, std::string_view name, std::span<const u8> word),
                          void* context);

// Puts back what an input has changed when it is over, and not when the next one begins: what an engine sees of putting
// back then follows from this input alone.
template <typename Body>
class AtEnd {
public:
    explicit AtEnd(Body body) : body_(body) {}
    ~AtEnd() { body_(); }
    AtEnd(const AtEnd&) = delete;
    AtEnd& operator=(const AtEnd&) = delete;

private:
    Body body_;
};

// Prints what was expected and aborts, which every engine counts as a crash.
[[noreturn]] void finding(const char* what, const char* file, int line);
#define FUZZ_CHECK(condition) \
    ((condition) ? static_cast<void>(0) : ::fuzz::finding(#condition, __FILE__, __LINE__))

}  // namespace fuzz
