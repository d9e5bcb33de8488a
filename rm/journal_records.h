// Journal records of the firmware half, declared from journal_records.def. Words are as the table names them.
#pragma once

#include "sim/journal.h"

namespace rm::records {

#define RECORD(id, name, ...) extern const sim::RecordType name;
#include "rm/journal_records.def"
#undef RECORD

}  // namespace rm::records
