// Expands journal_records.def.
#include "rm/journal_records.h"

namespace rm::records {

#define RECORD(id, name, ...)                     \
    namespace name##_fields {                     \
    constexpr std::string_view list[] = {__VA_ARGS__}; \
    }                                             \
    constexpr sim::RecordType name{id, #name, name##_fields::list};
#include "rm/journal_records.def"
#undef RECORD

}  // namespace rm::records
