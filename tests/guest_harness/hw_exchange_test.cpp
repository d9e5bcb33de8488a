// Turing's classes and methods in the words of another chip.
#include "guest_harness/hw/exchange.h"

#include <doctest/doctest.h>

#include "rm/abi/classes.h"

namespace harness::hw {

namespace abi = rm::abi;
namespace ce = gpu::nvc5b5;
namespace hc = gpu::nvc46f;

TEST_CASE("classes are exchanged by what the hardware lists, the youngest first") {
    // A GH100 lists Turing's channel and usermode classes besides its own.
    ClassExchange hopper({abi::TURING_USERMODE_A, abi::HOPPER_USERMODE_A, abi::TURING_CHANNEL_GPFIFO_A, abi::HOPPER_CHANNEL_GPFIFO_A,
                          abi::HOPPER_DMA_COPY_A, abi::HOPPER_COMPUTE_A, abi::FERMI_VASPACE_A});
    CHECK(hopper.to_hardware(abi::TURING_CHANNEL_GPFIFO_A) == abi::HOPPER_CHANNEL_GPFIFO_A);
    CHECK(hopper.to_hardware(abi::TURING_DMA_COPY_A) == abi::HOPPER_DMA_COPY_A);
    CHECK(hopper.to_hardware(abi::TURING_COMPUTE_A) == abi::HOPPER_COMPUTE_A);
    CHECK(hopper.to_hardware(abi::TURING_USERMODE_A) == abi::HOPPER_USERMODE_A);
    CHECK(hopper.to_hardware(abi::FERMI_VASPACE_A) == abi::FERMI_VASPACE_A);

    ClassExchange turing({abi::TURING_CHANNEL_GPFIFO_A, abi::TURING_DMA_COPY_A, abi::TURING_COMPUTE_A, abi::TURING_USERMODE_A});
    CHECK(turing.to_hardware(abi::TURING_COMPUTE_A) == abi::TURING_COMPUTE_A);

    ClassExchange without_copies({abi::HOPPER_CHANNEL_GPFIFO_A});
    CHECK_FALSE(without_copies.to_hardware(abi::TURING_DMA_COPY_A).has_value());
}

TEST_CASE("methods that both classes encode alike keep their data") {
    MethodExchange copies(abi::TURING_DMA_COPY_A, abi::HOPPER_DMA_COPY_A);
    for (u32 method : {ce::OFFSET_IN_UPPER, ce::OFFSET_OUT_LOWER, ce::LINE_LENGTH_IN, ce::SET_REMAP_COMPONENTS, ce::SET_DST_ORIGIN}) {
        const Recoded recoded = copies.recode(method, 0x1234);
        CHECK(recoded.problem.empty());
        CHECK(recoded.data == 0x1234);
    }
    MethodExchange host(abi::TURING_CHANNEL_GPFIFO_A, abi::HOPPER_CHANNEL_GPFIFO_A);
    const u32 reduction = hc::SEM_EXECUTE_OPERATION::make(hc::SEM_EXECUTE_OPERATION_REDUCTION) | hc::SEM_EXECUTE_REDUCTION::make(5);
    CHECK(host.recode(hc::SEM_EXECUTE, reduction).problem.empty());
    CHECK(host.recode(hc::SEM_EXECUTE, reduction).data == reduction);
}

TEST_CASE("what the other class cannot say is a problem by name, not another meaning") {
    MethodExchange copies(abi::TURING_DMA_COPY_A, abi::HOPPER_DMA_COPY_A);
    const u32 plain = ce::LAUNCH_DMA_DATA_TRANSFER_TYPE::make(2);
    CHECK(copies.recode(ce::LAUNCH_DMA, plain).problem.empty());
    // Hopper has COPY_TYPE where Turing has the two bypass bits.
    const Recoded bypass = copies.recode(ce::LAUNCH_DMA, plain | ce::LAUNCH_DMA_SRC_BYPASS_L2::make(1));
    CHECK(bypass.problem.find("SRC_BYPASS_L2") != std::string::npos);
    // VPRMODE is one bit narrower there.
    CHECK(copies.recode(ce::LAUNCH_DMA, plain | ce::LAUNCH_DMA_VPRMODE::make(1)).problem.empty());
    CHECK(copies.recode(ce::LAUNCH_DMA, plain | ce::LAUNCH_DMA_VPRMODE::make(2)).problem.find("VPRMODE") != std::string::npos);
    // A method that it does not have, one that nobody has, and a class without a table.
    MethodExchange host(abi::TURING_CHANNEL_GPFIFO_A, abi::HOPPER_CHANNEL_GPFIFO_A);
    CHECK_FALSE(host.recode(hc::CRC_CHECK, 0).problem.empty());
    CHECK_FALSE(copies.recode(0x1000, 0).problem.empty());
    CHECK_FALSE(copies.recode(~u32{0}, 0).problem.empty());
    CHECK_FALSE(MethodExchange(abi::TURING_DMA_COPY_A, abi::AMPERE_DMA_COPY_B).recode(ce::LINE_COUNT, 1).problem.empty());
    // The same class needs no table.
    CHECK(MethodExchange(abi::TURING_DMA_COPY_A, abi::TURING_DMA_COPY_A).recode(0x1000, 7).data == 7);
}

}  // namespace harness::hw
