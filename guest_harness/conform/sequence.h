// Sequences of driver calls that any driver can play, the real one or the model, and what it answered. What exists only while a
// sequence runs (addresses, descriptors, handles the driver chose, the chip's own class numbers) is a named hole in the bytes, so
// that answers of two drivers compare byte for byte.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/types.h"

namespace harness::conform {

using namespace sim;

enum class Symbol : u8 {
    Pointer,  // index: the block it points to
    File,     // index: the sequence's file
    Handle,   // index: the handle that an earlier step defined
    Class,    // index: a ChipClass
    GpuId,
};

// Classes whose number is the chip's.
enum class ChipClass : u8 { Usermode, Gpfifo, Compute, Copy };
inline constexpr std::size_t kChipClasses = 4;

struct Hole {
    u32 block = 0;
    u32 offset = 0;
    u32 bytes = 4;
    Symbol symbol = Symbol::Handle;
    u32 index = 0;
    friend bool operator==(const Hole&, const Hole&) = default;
};

struct Block {
    std::vector<u8> bytes;
    // Bytes before the page that is not mapped; the call fails with EFAULT where it reaches further.
    u32 mapped = ~u32{0};
};

enum class StepKind : u8 { Open, Close, Ioctl };
enum class Node : u8 { Control, Gpu };

struct Step {
    StepKind kind = StepKind::Ioctl;
    Node node = Node::Control;  // Open
    u32 file = 0;
    u32 request = 0;            // Ioctl
    std::vector<Block> blocks;  // Ioctl: the argument, then what it points to
    std::vector<Hole> holes;
    // Where in the argument the driver returns a handle that later steps name, and its index.
    struct Definition {
        u32 offset = 0;
        u32 index = 0;
    };
    std::optional<Definition> defines;
};

struct Reply {
    i64 result = 0;  // >= 0, or negated errno
    // The blocks after the call. Holes that still hold their value hold the step's bytes again; a defined handle is zero.
    std::vector<std::vector<u8>> blocks;
};

struct Sequence {
    u64 seed = 0;
    std::vector<Step> steps;
    std::vector<Reply> replies;  // empty, or one for each step
};

// What a file of sequences says of the driver that answered.
struct Source {
    std::string driver;  // version
    std::string chip;
};

// One JSON object a line: the source, then the sequences. Replies are written as what differs from the step's bytes.
std::string to_text(const Source& source, const std::vector<Sequence>& sequences);
// Throws sim::HostError that names the line when the text is not such a file.
std::vector<Sequence> from_text(std::string_view text, Source& source);

// "NV_ESC_RM_CONTROL NV0000_CTRL_CMD_GPU_GET_ID_INFO", "open nvidiactl": what a step does, in names.
std::string describe(const Step& step);
// The three that decide which rules apply; 0 where the step has none.
u32 escape_number(const Step& step);
u32 control_id(const Step& step);
u32 class_id(const Step& step);
// Where the escape's own struct is: the argument, or what NV_ESC_IOCTL_XFER_CMD points to. Empty: nowhere.
std::optional<std::size_t> struct_block(const Step& step);
// Offset of the status in the struct of an RM call. Empty: the call has none.
std::optional<u32> status_offset(const Step& step);

}  // namespace harness::conform
