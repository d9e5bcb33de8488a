// Which rows of the model's tables a run of inputs has reached, for fuzz_replay --rows and tools/fuzz-coverage. Counted
// only when asked for.
#pragma once

#include <string>

#include "fuzz/target.h"

namespace fuzz {

enum class RowTable : u8 { Opcodes, Methods, Controls, Classes, Registers };

void count_rows();
bool counting_rows();
void reached(RowTable table, u64 row);
// Every method of a table among the pushbuffer's words.
void reached_methods(std::span<const u32> words);
// "opcodes 120 of 187", one line for each table of which anything was reached.
std::string rows_text();

}  // namespace fuzz
