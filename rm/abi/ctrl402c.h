// Wire structs of the driver's ctrl402c.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl402c.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV402C_CTRL_I2C_TRANSACTION_DATA_SMBUS_QUICK_RW {
    NvBool bWrite;
    NvU8 hole0[3];
    NvU32 warFlags;
};
static_assert(sizeof(NV402C_CTRL_I2C_TRANSACTION_DATA_SMBUS_QUICK_RW) == 8);

struct NV402C_CTRL_I2C_TRANSACTION_DATA_I2C_BYTE_RW {
    NvBool bWrite;
    NvU8 message;
};
static_assert(sizeof(NV402C_CTRL_I2C_TRANSACTION_DATA_I2C_BYTE_RW) == 2);

struct NV402C_CTRL_I2C_TRANSACTION_DATA_I2C_BLOCK_RW {
    NvBool bWrite;
    NvU8 hole0[3];
    NvU32 messageLength;
    NvP64 pMessage;
};
static_assert(sizeof(NV402C_CTRL_I2C_TRANSACTION_DATA_I2C_BLOCK_RW) == 16);

struct NV402C_CTRL_I2C_TRANSACTION_DATA_I2C_BUFFER_RW {
    NvBool bWrite;
    NvU32 warFlags;
    NvU8 registerAddress;
    NvU32 messageLength;
    NvP64 pMessage;
};
static_assert(sizeof(NV402C_CTRL_I2C_TRANSACTION_DATA_I2C_BUFFER_RW) == 24);

struct NV402C_CTRL_I2C_TRANSACTION_DATA_SMBUS_BYTE_RW {
    NvBool bWrite;
    NvU8 registerAddress;
    NvU8 message;
};
static_assert(sizeof(NV402C_CTRL_I2C_TRANSACTION_DATA_SMBUS_BYTE_RW) == 3);

struct NV402C_CTRL_I2C_TRANSACTION_DATA_SMBUS_WORD_RW {
    NvBool bWrite;
    NvU8 registerAddress;
    NvU16 message;
};
static_assert(sizeof(NV402C_CTRL_I2C_TRANSACTION_DATA_SMBUS_WORD_RW) == 4);

struct NV402C_CTRL_I2C_TRANSACTION_DATA_SMBUS_BLOCK_RW {
    NvBool bWrite;
    NvU8 registerAddress;
    NvU8 hole0[2];
    NvU32 messageLength;
    NvP64 pMessage;
};
static_assert(sizeof(NV402C_CTRL_I2C_TRANSACTION_DATA_SMBUS_BLOCK_RW) == 16);

struct NV402C_CTRL_I2C_TRANSACTION_DATA_SMBUS_PROCESS_CALL {
    NvU8 registerAddress;
    NvU8 hole0[1];
    NvU16 writeMessage;
    NvU16 readMessage;
};
static_assert(sizeof(NV402C_CTRL_I2C_TRANSACTION_DATA_SMBUS_PROCESS_CALL) == 6);

struct NV402C_CTRL_I2C_TRANSACTION_DATA_SMBUS_BLOCK_PROCESS_CALL {
    NvU8 registerAddress;
    NvU32 writeMessageLength;
    NvU8 writeMessage[32];
    NvU32 readMessageLength;
    NvU8 readMessage[32];
};
static_assert(sizeof(NV402C_CTRL_I2C_TRANSACTION_DATA_SMBUS_BLOCK_PROCESS_CALL) == 76);

struct NV402C_CTRL_I2C_TRANSACTION_DATA_SMBUS_MULTIBYTE_REGISTER_BLOCK_RW {
    NvBool bWrite;
    NvU32 warFlags;
    NvU32 indexLength;
    NvU8 index[4];
    NvU32 messageLength;
    NvP64 pMessage;
};
static_assert(sizeof(NV402C_CTRL_I2C_TRANSACTION_DATA_SMBUS_MULTIBYTE_REGISTER_BLOCK_RW) == 32);

struct NV402C_CTRL_I2C_TRANSACTION_DATA_READ_EDID_DDC {
    NvU8 segmentNumber;
    NvU8 registerAddress;
    NvU8 hole0[2];
    NvU32 messageLength;
    NvP64 pMessage;
};
static_assert(sizeof(NV402C_CTRL_I2C_TRANSACTION_DATA_READ_EDID_DDC) == 16);

union NV402C_CTRL_I2C_TRANSACTION_DATA {
    NV402C_CTRL_I2C_TRANSACTION_DATA_SMBUS_QUICK_RW smbusQuickData;
    NV402C_CTRL_I2C_TRANSACTION_DATA_I2C_BYTE_RW i2cByteData;
    NV402C_CTRL_I2C_TRANSACTION_DATA_I2C_BLOCK_RW i2cBlockData;
    NV402C_CTRL_I2C_TRANSACTION_DATA_I2C_BUFFER_RW i2cBufferData;
    NV402C_CTRL_I2C_TRANSACTION_DATA_SMBUS_BYTE_RW smbusByteData;
    NV402C_CTRL_I2C_TRANSACTION_DATA_SMBUS_WORD_RW smbusWordData;
    NV402C_CTRL_I2C_TRANSACTION_DATA_SMBUS_BLOCK_RW smbusBlockData;
    NV402C_CTRL_I2C_TRANSACTION_DATA_SMBUS_PROCESS_CALL smbusProcessData;
    NV402C_CTRL_I2C_TRANSACTION_DATA_SMBUS_BLOCK_PROCESS_CALL smbusBlockProcessData;
    NV402C_CTRL_I2C_TRANSACTION_DATA_SMBUS_MULTIBYTE_REGISTER_BLOCK_RW smbusMultibyteRegisterData;
    NV402C_CTRL_I2C_TRANSACTION_DATA_READ_EDID_DDC edidData;
};
static_assert(sizeof(NV402C_CTRL_I2C_TRANSACTION_DATA) == 80);

struct NV402C_CTRL_I2C_TRANSACTION_PARAMS {
    NvU8 portId;
    NvU32 flags;
    NvU16 deviceAddress;
    NvU32 transType;
    NV402C_CTRL_I2C_TRANSACTION_DATA transData;
};
static_assert(sizeof(NV402C_CTRL_I2C_TRANSACTION_PARAMS) == 96);

}  // namespace rm::abi
