// A trace's work on queues: copies, fills, inline data, semaphores and kernels do on a memory without a GPU what the model does with the
// pushbuffers themselves.
#include "guest_harness/hw/queue_side.h"

#include <doctest/doctest.h>

#include <cstring>
#include <deque>

#include "guest_harness/run.h"
#include "guest_harness/trace/recorder.h"
#include "sim/check.h"

namespace harness::hw {
namespace {

constexpr const char* kCompanions = TU104SIM_SOURCE_DIR "/examples/companions";

std::string record_guest(const std::string& guest, std::vector<std::string> args = {}) {
    MachineOptions machine;
    machine.boot = rm::BootMode::Warm;
    trace::Writer writer(trace::header_for(machine, "run", {guest}));
    struct Sink final : CrossingSink {
        trace::Writer* writer = nullptr;
        void on_call(const CallRecord& call) override { writer->add(call); }
        void on_stores(const StoreBatch& batch) override { writer->add(batch); }
        void on_mmio(const MmioRecord& access) override { writer->add(access); }
        void on_poll(const PollRecord& poll) override { writer->add(poll); }
    } sink;
    sink.writer = &writer;
    RunOptions options{.guest_path = std::string(TU104SIM_BINARY_DIR) + "/guests/" + guest, .args = std::move(args), .machine = machine,
                       .sink = &sink};
    RunOutcome outcome = run_guest(options);
    REQUIRE(outcome.exit_code == 0);
    writer.close({});
    return writer.bytes();
}

// Queues on plain memory: each does its steps in order, and a wait holds it until the value is there.
class MemoryQueues final : public GpuQueues {
public:
    explicit MemoryQueues(const std::vector<GpuRange>& ranges, u64 wrong_copy) : wrong_copy_(wrong_copy) {
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

class MemorySource final : public QueueSource {
public:
    explicit MemorySource(u64 wrong_copy = 0) : wrong_copy_(wrong_copy) {}
    Hardware hardware() override {
        Hardware out;
        out.name = "plain memory";
        return out;
    }
    u64 granule() const override { return u64{64} << 10; }
    GpuQueues& open(const std::vector<GpuRange>& ranges) override {
        queues_ = std::make_unique<MemoryQueues>(ranges, wrong_copy_);
        return *queues_;
    }
    Ending end() override {
        Ending out;
        out.empty = true;
        return out;
    }

private:
    u64 wrong_copy_;
    std::unique_ptr<MemoryQueues> queues_;
};

Comparison compare_on_memory(const std::string& bytes, const Companions& companions = {}, u64 wrong_copy = 0) {
    MemorySource source(wrong_copy);
    return compare("test", [&] { return std::make_unique<trace::Reader>("test", bytes); }, *queue_side(source, companions), {});
}

}  // namespace

TEST_CASE("the shipped client's copies, fills, inline data and semaphores are equal on queues") {
    const Comparison result = compare_on_memory(record_guest("rm_client"));
    INFO(comparison_text(result));
    CHECK(result.equal());
    CHECK(result.exit_code() == 0);
    CHECK(result.real.points == 3);
    CHECK(result.bytes > 3 * 128 * 1024);
    CHECK(comparison_text(result).find("on streams of plain memory") != std::string::npos);
    CHECK(comparison_json(result).find("\"work_became\"") != std::string::npos);
}

TEST_CASE("random pieces of work become copies and fills of queues and are equal at every release") {
    for (const char* seed : {"3", "4"}) {
        const Comparison result = compare_on_memory(record_guest("copies_client", {"200", seed, "lprbBis"}));
        INFO(comparison_text(result));
        CHECK(result.equal());
        CHECK(result.real.submissions_awaited == 201);
        CHECK(result.real.points == 202);
        CHECK(result.unread_ranges == 0);
    }
}

TEST_CASE("a byte that a queue copies wrong is found, with the work that wrote it") {
    const Comparison result = compare_on_memory(record_guest("copies_client", {"20", "5", "l"}), {}, 8);
    INFO(comparison_text(result));
    CHECK(result.exit_code() == 1);
    REQUIRE(result.difference.has_value());
    CHECK((result.difference->model ^ result.difference->hardware) == 0x40);
    CHECK(result.difference->writer == "copy engine launch");
}

TEST_CASE("kernels run as their companions, and all memory that the GPU sees is compared after them") {
    const std::string bytes = record_guest("kernel_client");
    const Companions companions(kCompanions);
    CHECK(companions.count() == 2);
    const Comparison result = compare_on_memory(bytes, companions);
    INFO(comparison_text(result));
    CHECK(result.equal());
    CHECK(result.work_text.find("2 kernels") != std::string::npos);
    CHECK(result.bytes > 2 * 512 * 1024);
    const Comparison wrong = compare_on_memory(bytes, companions, 1);
    CHECK(wrong.exit_code() == 1);
    REQUIRE(wrong.difference.has_value());
    CHECK(wrong.difference->writer == "kernel launch");
}

TEST_CASE("a kernel without a companion is named, and the replay stops there") {
    const Comparison result = compare_on_memory(record_guest("kernel_client"));
    CHECK(result.exit_code() == 3);
    CHECK(result.refused);
    CHECK(result.stopped.find("no companion image has its code") != std::string::npos);
    CHECK(result.stopped.find("grid 157x1x1") != std::string::npos);
}

TEST_CASE("what no queue does is refused by name") {
    const Comparison result = compare_on_memory(record_guest("uvm_client"));
    CHECK(result.exit_code() == 3);
    CHECK(result.stopped.find("UVM is not forwarded") != std::string::npos);
    const Comparison three = compare_on_memory(record_guest("copies_client", {"20", "5", "t"}));
    CHECK(three.exit_code() == 3);
    CHECK(three.stopped.find("3-byte components") != std::string::npos);
}

TEST_CASE("a folder without companions says what is missing") {
    CHECK_THROWS_AS(Companions("/nowhere/at/all"), HostError);
    CHECK_THROWS_AS(Companions(TU104SIM_SOURCE_DIR "/docs"), HostError);
    const Companions companions(kCompanions);
    const std::vector<u8> other(192);
    CHECK(companions.find(other) == nullptr);
}

}  // namespace harness::hw
