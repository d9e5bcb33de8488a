// Queues of a GPU on plain memory: what the CUDA forwarder gives to streams is done here, step by step and in order.
#pragma once

#include <doctest/doctest.h>

#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "guest_harness/hw/gpu_queues.h"

namespace harness::hw {

// A wait holds its queue until the value is there.
class MemoryQueues final : public GpuQueues {
public:
    // wrong_copy: number of the copy that goes wrong by one bit; 0: none does.
    explicit MemoryQueues(const std::vector<GpuRange>& ranges, u64 wrong_copy = 0) : wrong_copy_(wrong_copy) {
        for (const GpuRange& range : ranges) memory_[range.begin].resize(range.end - range.begin);
    }
    std::string name() const override { return "plain memory"; }
    u32 make_queue() override {
        queues_.emplace_back();
        return static_cast<u32>(queues_.size() - 1);
    }
    bool idle(u32 queue) override {
        run(queue);
        return queues_[queue].empty();
    }
    void copy(u32 queue, Lines to, Lines from, u64 width, u64 lines) override {
        REQUIRE((lines == 1 || (to.pitch >= width && from.pitch >= width)));
        const bool wrong = ++copies_ == wrong_copy_;
        add(queue, [=, this] {
            for (u64 line = 0; line < lines; ++line) {
                const std::vector<u8> bytes(at(from.at + line * from.pitch, width), at(from.at + line * from.pitch, width) + width);
                std::copy(bytes.begin(), bytes.end(), at(to.at + line * to.pitch, width));
            }
            if (wrong) *at(to.at, 1) ^= 0x40;
        });
    }
    void fill(u32 queue, Lines to, unsigned unit_bytes, u32 value, u64 units, u64 lines) override {
        REQUIRE(to.at % unit_bytes == 0);
        add(queue, [=, this] {
            for (u64 line = 0; line < lines; ++line)
                for (u64 unit = 0; unit < units; ++unit)
                    std::memcpy(at(to.at + line * to.pitch + unit * unit_bytes, unit_bytes), &value, unit_bytes);
        });
    }
    void upload(u32 queue, u64 to, std::span<const u8> bytes) override {
        add(queue, [this, to, data = std::vector<u8>(bytes.begin(), bytes.end())] { store(to, data); });
    }
    void write(u32 queue, u64 va, u64 value, unsigned bytes) override {
        add(queue, [=, this] { std::memcpy(at(va, bytes), &value, bytes); });
    }
    void write_time(u32 queue, u64 va) override { write(queue, va, 0x1234567890, sizeof(u64)); }
    void wait(u32 queue, u64 va, u64 value, unsigned bytes, Until until) override {
        queues_[queue].push_back([=, this] {
            u64 memory = 0;
            std::memcpy(&memory, at(va, bytes), bytes);
            switch (until) {
                case Until::Equal: return memory == value;
                case Until::CircularGeq: return static_cast<i32>(static_cast<u32>(memory) - static_cast<u32>(value)) >= 0;
                case Until::And: return (memory & value) != 0;
                case Until::Nor: return ~(memory | value) != 0;
            }
            return false;
        });
        run(queue);
    }
    void reduce(u32 queue, u64 va, gpu::Reduction operation, bool is_signed, u32 operand) override {
        add(queue, [=, this] {
            u32 memory = 0;
            std::memcpy(&memory, at(va, sizeof(memory)), sizeof(memory));
            REQUIRE(gpu::reduce_u32(operation, is_signed, memory, operand, memory));
            std::memcpy(at(va, sizeof(memory)), &memory, sizeof(memory));
        });
    }
    // The two kernels of examples/companions.
    void launch(u32 queue, const Launch& launch) override {
        const auto parameter = [&](std::size_t offset, std::size_t bytes) {
            u64 value = 0;
            REQUIRE(offset + bytes <= launch.parameters.size());
            std::memcpy(&value, launch.parameters.data() + offset, bytes);
            return value;
        };
        if (launch.kernel->kernel == "fill") {
            const u64 to = parameter(0, 8), words = parameter(12, 4);
            return fill(queue, {to, words * 4}, 4, static_cast<u32>(parameter(8, 4)), words, 1);
        }
        REQUIRE(launch.kernel->kernel == "copy");
        const u64 bytes = parameter(16, 4) * 4;
        copy(queue, {parameter(8, 8), bytes}, {parameter(0, 8), bytes}, bytes, 1);
    }
    void read(u64 va, std::span<u8> out) override { std::copy_n(at(va, out.size()), out.size(), out.begin()); }
    void store(u64 va, std::span<const u8> bytes) override { std::copy(bytes.begin(), bytes.end(), at(va, bytes.size())); }

private:
    u8* at(u64 va, u64 bytes) {
        auto range = memory_.upper_bound(va);
        REQUIRE(range != memory_.begin());
        --range;
        REQUIRE(va - range->first + bytes <= range->second.size());
        return range->second.data() + (va - range->first);
    }
    template <typename Step>
    void add(u32 queue, Step step) {
        queues_[queue].push_back([step] {
            step();
            return true;
        });
        run(queue);
    }
    void run(u32 queue) {
        while (!queues_[queue].empty() && queues_[queue].front()()) queues_[queue].pop_front();
    }

    std::map<u64, std::vector<u8>> memory_;
    std::vector<std::deque<std::function<bool()>>> queues_;
    u64 copies_ = 0;
    u64 wrong_copy_;
};

}  // namespace harness::hw
