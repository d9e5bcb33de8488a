// Values that the recorded driver chose and the client hands back: handles, GPU ids, kernel addresses, UUIDs. A replay on another driver
// chooses its own, so each answer teaches a pair and each later question is asked with ours. Which fields hold what: translated_fields.def.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>

#include "guest_harness/trace/wire_fields.h"

namespace harness::trace {

class Translation {
public:
    explicit Translation(const rm::DriverVersion& version) : version_(version) {}

    // Puts our value in the place of each recorded one that is known.
    void to_replay(std::string_view struct_name, std::span<u8> bytes) const;
    // The same in a list without a struct: a word that is a known handle. Guess: no list holds such words that are no handles.
    void words_to_replay(std::span<u8> bytes) const;
    // Pairs up what two answers of one call hold.
    void learn(std::string_view struct_name, std::span<const u8> recorded, std::span<const u8> replayed);

private:
    enum class Kind : u8 { Handle, GpuId, KernelAddress, Uuid };
    static std::optional<Kind> kind_of(std::string_view struct_name, const WireField& field);
    // Every translated value in a struct of `bytes` bytes.
    void each_value(std::string_view struct_name, u64 bytes,
                    const std::function<void(Kind kind, u64 offset, u64 bytes)>& visit) const;
    struct Known {
        Kind kind;
        std::string value;
        friend auto operator<=>(const Known&, const Known&) = default;
    };
    const rm::DriverVersion& version_;
    std::map<Known, std::string> known_;  // recorded -> replayed
};

}  // namespace harness::trace
