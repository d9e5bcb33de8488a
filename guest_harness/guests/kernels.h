// Two kernels for sm_75, written for this program: each line is one instruction word and its text. Parameters begin at
// c[0x0][0x160]; c[0x0][0x0] is the number of threads in a block.
#pragma once

#include "guest_harness/guests/nolibc.h"

// fill(u32* to, u32 value, u32 words): thread i of the grid stores to[i].
static const u64 fill_kernel[][2] = {
    {0x0000000000007919, 0x000e220000002500},  // S2R R0, SR_CTAID.X ;
    {0x0000000000037919, 0x000e220000002100},  // S2R R3, SR_TID.X ;
    {0x0000000400057802, 0x000fea0000000f00},  // MOV R5, 0x4 ;
    {0x0000000000007a24, 0x001fec00078e0003},  // IMAD.U32 R0, R0, c[0x0][0x0], R3 ;
    {0x00005b0000007a0c, 0x000ffa0003f06070},  // ISETP.GE.U32.AND P0, PT, R0, c[0x0][0x16c], PT ;
    {0x000000000000094d, 0x000fea0003800000},  // @P0 EXIT ;
    {0x0000580000027625, 0x000fec00078e0005},  // IMAD.WIDE.U32 R2, R0, R5, c[0x0][0x160] ;
    {0x00005a0000047a02, 0x000fec0000000f00},  // MOV R4, c[0x0][0x168] ;
    {0x0000000402007386, 0x000fe2000010e900},  // STG.E.SYS [R2], R4 ;
    {0x000000000000794d, 0x000fea0003800000},  // EXIT ;
    {0xfffffff000007947, 0x000fe0000383ffff},  // BRA 0xa0 ;
    {0x0000000000007918, 0x000fe00000000000},  // NOP ;
};

// copy(const u32* from, u32* to, u32 words): thread i of the grid copies word i.
static const u64 copy_kernel[][2] = {
    {0x0000000000007919, 0x000e220000002500},  // S2R R0, SR_CTAID.X ;
    {0x0000000000037919, 0x000e220000002100},  // S2R R3, SR_TID.X ;
    {0x0000000400057802, 0x000fea0000000f00},  // MOV R5, 0x4 ;
    {0x0000000000007a24, 0x001fec00078e0003},  // IMAD.U32 R0, R0, c[0x0][0x0], R3 ;
    {0x00005c0000007a0c, 0x000ffa0003f06070},  // ISETP.GE.U32.AND P0, PT, R0, c[0x0][0x170], PT ;
    {0x000000000000094d, 0x000fea0003800000},  // @P0 EXIT ;
    {0x0000580000027625, 0x000fec00078e0005},  // IMAD.WIDE.U32 R2, R0, R5, c[0x0][0x160] ;
    {0x0000000002047381, 0x000e2200001ee900},  // LDG.E.SYS R4, [R2] ;
    {0x00005a0000067625, 0x000fec00078e0005},  // IMAD.WIDE.U32 R6, R0, R5, c[0x0][0x168] ;
    {0x0000000406007386, 0x001fe2000010e900},  // STG.E.SYS [R6], R4 ;
    {0x000000000000794d, 0x000fea0003800000},  // EXIT ;
    {0xfffffff000007947, 0x000fe0000383ffff},  // BRA 0xb0 ;
};
