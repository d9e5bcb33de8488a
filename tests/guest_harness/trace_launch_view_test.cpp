// Launches in sentences.
#include "guest_harness/trace/launch_view.h"

#include <doctest/doctest.h>

#include "gpu_model/engine/method_table.h"

using namespace harness::trace;
namespace ce = gpu::nvc5b5;
namespace host = gpu::nvc46f;
namespace compute = gpu::nvc5c0;

namespace {

struct Said {
    std::string word(u32 class_id, u32 method, u32 data) {
        return view.add({.class_id = class_id, .method = method, .data = data, .known = true});
    }
    std::string copy(u32 method, u32 data) { return word(gpu::cls::TURING_DMA_COPY_A, method, data); }
    std::string channel(u32 method, u32 data) { return word(gpu::cls::TURING_CHANNEL_GPFIFO_A, method, data); }
    void addresses() {
        copy(ce::OFFSET_IN_UPPER, 1);
        copy(ce::OFFSET_IN_LOWER, 0x20400000);
        copy(ce::OFFSET_OUT_UPPER, 0);
        copy(ce::OFFSET_OUT_LOWER, 0x1000);
        copy(ce::LINE_LENGTH_IN, 0x100000);
        copy(ce::SET_SEMAPHORE_A, 2);
        copy(ce::SET_SEMAPHORE_B, 0x30);
        copy(ce::SET_SEMAPHORE_PAYLOAD, 7);
    }
    LaunchView view;
};

constexpr u32 kPitch = ce::LAUNCH_DMA_SRC_MEMORY_LAYOUT::make(1) | ce::LAUNCH_DMA_DST_MEMORY_LAYOUT::make(1);

}  // namespace

TEST_CASE("launch view: copies, with what follows them") {
    Said said;
    said.addresses();
    CHECK(said.copy(ce::LAUNCH_DMA, 1 | kPitch) == "copy 1 MiB, pitch, 0x120400000 to 0x1000");
    CHECK(said.copy(ce::LAUNCH_DMA, 1 | kPitch | ce::LAUNCH_DMA_SEMAPHORE_TYPE::make(1) | ce::LAUNCH_DMA_INTERRUPT_TYPE::make(2)) ==
          "copy 1 MiB, pitch, 0x120400000 to 0x1000; then release 0x7 at 0x200000030; then interrupt");
    CHECK(said.copy(ce::LAUNCH_DMA, ce::LAUNCH_DMA_SEMAPHORE_TYPE::make(2)) == "release 0x7 and the time at 0x200000030");
    CHECK(said.copy(ce::LAUNCH_DMA, ce::LAUNCH_DMA_SEMAPHORE_TYPE::make(1) | ce::LAUNCH_DMA_SEMAPHORE_REDUCTION_ENABLE::make(1) |
                                        ce::LAUNCH_DMA_SEMAPHORE_REDUCTION::make(5)) == "add 0x7 into 0x200000030");
    CHECK(said.copy(ce::LAUNCH_DMA, 0) == "nothing");
    said.copy(ce::LINE_LENGTH_IN, 300);
    said.copy(ce::LINE_COUNT, 40);
    said.copy(ce::PITCH_IN, 512);
    said.copy(ce::PITCH_OUT, static_cast<u32>(-1000));
    CHECK(said.copy(ce::LAUNCH_DMA, 1 | kPitch | ce::LAUNCH_DMA_MULTI_LINE_ENABLE::make(1) | ce::LAUNCH_DMA_SRC_TYPE::make(1)) ==
          "copy 40 lines of 300 bytes, pitch 512 to pitch -1000, physical 0x120400000 to 0x1000");
    for (auto [method, data] : {std::pair{ce::SET_DST_BLOCK_SIZE, 0x1020u}, {ce::SET_DST_WIDTH, 640u}, {ce::SET_DST_HEIGHT, 480u},
                                {ce::SET_DST_DEPTH, 2u}, {ce::SET_DST_LAYER, 1u}, {ce::DST_ORIGIN_X, 8u}, {ce::DST_ORIGIN_Y, 9u}})
        said.copy(method, data);
    CHECK(said.copy(ce::LAUNCH_DMA, 1 | ce::LAUNCH_DMA_SRC_MEMORY_LAYOUT::make(1) | ce::LAUNCH_DMA_MULTI_LINE_ENABLE::make(1)) ==
          "copy 40 lines of 300 bytes, pitch 512 to block-linear 4x1 GOBs of 640x480x2 at 8, 9 in layer 1, 0x120400000 to 0x1000");
}

TEST_CASE("launch view: fills and remaps") {
    Said said;
    said.addresses();
    said.copy(ce::SET_REMAP_CONST_B, 0x5a17c3e9);
    said.copy(ce::LINE_LENGTH_IN, 0x8000);
    said.copy(ce::SET_REMAP_COMPONENTS, ce::SET_REMAP_COMPONENTS_DST_X_CONST_B | ce::SET_REMAP_COMPONENTS_COMPONENT_SIZE::make(3));
    CHECK(said.copy(ce::LAUNCH_DMA, 1 | kPitch | ce::LAUNCH_DMA_REMAP_ENABLE::make(1)) == "fill 128 KiB with 0x5a17c3e9, pitch, at 0x1000");
    said.copy(ce::SET_REMAP_COMPONENTS, ce::SET_REMAP_COMPONENTS_DST_X::make(1) | ce::SET_REMAP_COMPONENTS_DST_Y::make(6) |
                                            ce::SET_REMAP_COMPONENTS_NUM_SRC_COMPONENTS::make(1) |
                                            ce::SET_REMAP_COMPONENTS_NUM_DST_COMPONENTS::make(1));
    CHECK(said.copy(ce::LAUNCH_DMA, 1 | kPitch | ce::LAUNCH_DMA_REMAP_ENABLE::make(1)) ==
          "copy 64 KiB, pitch, 0x120400000 to 0x1000, 2 of 2 components of 1 bytes as y, nothing");
    // Any bits make a sentence.
    for (u32 bit = 0; bit < 32; ++bit) {
        said.copy(ce::SET_REMAP_COMPONENTS, 0xFFFFFFFF);
        said.copy(ce::SET_DST_BLOCK_SIZE, 0xFFFFFFFF);
        CHECK(!said.copy(ce::LAUNCH_DMA, 0xFFFFFFFF ^ 1u << bit).empty());
    }
}

TEST_CASE("launch view: semaphores of the host, inline data and grids; other words say nothing") {
    Said said;
    CHECK(said.channel(host::SEM_ADDR_LO, 0x100).empty());
    said.channel(host::SEM_ADDR_HI, 1);
    said.channel(host::SEM_PAYLOAD_LO, 5);
    said.channel(host::SEM_PAYLOAD_HI, 6);
    CHECK(said.channel(host::SEM_EXECUTE, host::SEM_EXECUTE_OPERATION_ACQUIRE) == "wait until 0x100000100 holds 0x5");
    CHECK(said.channel(host::SEM_EXECUTE, host::SEM_EXECUTE_OPERATION_RELEASE | host::SEM_EXECUTE_PAYLOAD_SIZE::make(1) |
                                              host::SEM_EXECUTE_RELEASE_WFI::make(1)) ==
          "wait until the engines are idle; then release 0x600000005 at 0x100000100");
    CHECK(said.channel(host::SEM_EXECUTE, host::SEM_EXECUTE_OPERATION_REDUCTION | host::SEM_EXECUTE_REDUCTION::make(6)) ==
          "inc 0x5 into 0x100000100");
    CHECK(said.channel(host::SEM_EXECUTE, 7).empty());
    const u32 grid = gpu::cls::TURING_COMPUTE_A;
    said.word(grid, compute::SEND_PCAS_A, 0x12345);
    CHECK(said.word(grid, compute::SEND_SIGNALING_PCAS_B, 1).empty());
    CHECK(said.word(grid, compute::SEND_SIGNALING_PCAS_B, 3) == "launch the grid of the QMD at 0x1234500");
    said.word(grid, compute::LINE_LENGTH_IN, 9);
    said.word(grid, compute::LINE_COUNT, 2);
    said.word(grid, compute::OFFSET_OUT, 0x40);
    CHECK(said.word(grid, compute::LAUNCH_DMA, 1) == "take 2 lines of 9 bytes from the pushbuffer, pitch, to 0x40");
    said.word(gpu::cls::KEPLER_INLINE_TO_MEMORY_B, compute::LINE_LENGTH_IN, 5);
    said.word(gpu::cls::KEPLER_INLINE_TO_MEMORY_B, compute::LINE_COUNT, 1);
    CHECK(said.word(gpu::cls::KEPLER_INLINE_TO_MEMORY_B, compute::LAUNCH_DMA, 0) ==
          "take 5 bytes from the pushbuffer, block-linear, to 0x0");
    CHECK(said.word(0, 0x300, 1).empty());
}
