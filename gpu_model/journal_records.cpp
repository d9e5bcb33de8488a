// Expands journal_records.def.
#include "gpu_model/journal_records.h"

namespace gpu::records {

#define RECORD(id, name, ...)                              \
    namespace name##_fields {                              \
        constexpr std::string_view list[] = {__VA_ARGS__}; \
    }                                                      \
    constexpr sim::RecordType name{id, #name, name##_fields::list};
#include "gpu_model/journal_records.def"
#undef RECORD

}  // namespace gpu::records
