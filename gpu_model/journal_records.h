// Record types of the chip's journal records; the rows are journal_records.def.
#pragma once

#include "sim/journal.h"

namespace gpu::records {

#define RECORD(id, name, ...) extern const sim::RecordType name;
#include "gpu_model/journal_records.def"
#undef RECORD

}  // namespace gpu::records
