// Record types of the chip's journal records; the rows are journal_records.def.
#pragma once

#include "sim/journal.h"

namespace gpu::records {

#define RECORD(id, name, ...) extern const sim::RecordType name;
#include "gpu_model/journal_records.def"
#undef RECORD

// semaphore_release.format
enum class ReleaseFormat : sim::u64 {
    Word32 = 0,
    Word64 = 1,
    Timestamp32 = 2,
    Timestamp64 = 3,
    Reduction = 4,  // host
    CeOneWord = 16,
    CeFourWord = 17,
    CeReduction = 18,
    ReportOneWord = 32,
    ReportFourWord = 33,
    ReportReduction = 34,
    InlineOneWord = 48,  // at the end of an inline transfer
    InlineFourWord = 49,
    InlineReduction = 50,
    QmdOneWord = 64,  // at the end of a grid
    QmdFourWord = 65,
    QmdReduction = 66,
};
// ce_launch.outcome; LAUNCHERR codes are added to LaunchErr.
enum class CeOutcome : sim::u64 { Done = 0, Skipped = 1, Fault = 2, LaunchErr = 0x100 };

// kernel_launch.outcome
enum class LaunchOutcome : sim::u64 { Done = 0, Trap = 1, Fault = 2, Deadlock = 3 };

}  // namespace gpu::records
