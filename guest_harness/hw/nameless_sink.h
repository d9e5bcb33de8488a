// What is recorded of a real GPU goes on without its name: its UUID becomes 10 11 ... 1f wherever it passes, as in every recording here.
#pragma once

#include <vector>

#include "guest_harness/crossings.h"

namespace harness::hw {

class NamelessSink final : public CrossingSink {
public:
    // `to` outlives it.
    explicit NamelessSink(CrossingSink& to) : to_(to) {}

    void on_call(const CallRecord& call) override;
    void on_stores(const StoreBatch& batch) override;
    void on_mmio(const MmioRecord& access) override { to_.on_mmio(access); }
    void on_poll(const PollRecord& poll) override { to_.on_poll(poll); }

private:
    struct Name {
        std::vector<u8> real;
        std::vector<u8> shown;  // as long
    };
    void learn(const CallRecord& call);
    void replace(std::vector<u8>& bytes) const;

    CrossingSink& to_;
    std::vector<Name> names_;  // one for each form: 16 bytes, text
};

}  // namespace harness::hw
