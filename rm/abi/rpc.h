// RPC function and event numbers of 570.144 as constants, and their names for every tag.
#pragma once

#include <string_view>

#include "rm/abi/base.h"
#include "sim/bits.h"

namespace rm::abi {

// Rows of a range that contains 570.144 (tag index 4) become constants.
inline constexpr u32 kTag570_144 = 4;

#define RPC_FUNCTION(name, number, since, until) RPC_CONSTANT_##until(name, number, since)
#define RPC_EVENT(name, number, since, until) RPC_CONSTANT_##until(name, number, since)
#define RPC_CONSTANT_0(name, number, since)
#define RPC_CONSTANT_1(name, number, since)
#define RPC_CONSTANT_2(name, number, since)
#define RPC_CONSTANT_3(name, number, since)
#define RPC_CONSTANT_4(name, number, since) inline constexpr NvU32 name = number;
#define RPC_CONSTANT_5(name, number, since) RPC_CONSTANT_5_SINCE_##since(name, number)
#define RPC_CONSTANT_5_SINCE_0(name, number) inline constexpr NvU32 name = number;
#define RPC_CONSTANT_5_SINCE_1(name, number) inline constexpr NvU32 name = number;
#define RPC_CONSTANT_5_SINCE_2(name, number) inline constexpr NvU32 name = number;
#define RPC_CONSTANT_5_SINCE_3(name, number) inline constexpr NvU32 name = number;
#define RPC_CONSTANT_5_SINCE_4(name, number) inline constexpr NvU32 name = number;
#define RPC_CONSTANT_5_SINCE_5(name, number)
#include "rm/abi/rpc_events.def"
#include "rm/abi/rpc_functions.def"
#undef RPC_FUNCTION
#undef RPC_EVENT

// rpc_message_header_v03_00.
inline constexpr NvU32 kRpcHeaderVersion = 0x03000000;
inline constexpr NvU32 kRpcSignature = 0x43505256;  // "VRPC" in memory
inline constexpr NvU32 kRpcHeaderBytes = 32;

// The name of a function or event at a tag (0..5, see rpc_functions.def); empty when that tag has no such number.
std::string_view rpc_name(u32 number, u32 tag = kTag570_144);
bool is_rpc_event(u32 number);
// Gets no reply (RPC:_issueRpcAsync).
bool is_rpc_async(u32 number);
// How a record of the function travels, for people: "asynchronous", "synchronous", "event", "continuation".
std::string_view rpc_kind(u32 number);

}  // namespace rm::abi
