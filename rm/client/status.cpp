#include "rm/client/status.h"

namespace rm::client {

std::string_view status_text(Status status) {
    struct Row {
        Status value;
        std::string_view name;
    };
    static constexpr Row rows[] = {
#define NV_STATUS_CODE(name, value) {value, #name},
#include "rm/abi/status_codes.def"
#undef NV_STATUS_CODE
    };
    for (const Row& row : rows)
        if (row.value == status) return row.name;
    return "NV_STATUS?";
}

}  // namespace rm::client
