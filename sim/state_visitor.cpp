// The forms of StateVisitor::field that need no template.
#include "sim/state_visitor.h"

namespace sim {

void StateVisitor::fail(std::string_view, std::string_view) {}

void StateVisitor::field(std::string_view name, std::string& value) {
    if (in_place()) {
        u64 count = value.size();
        u64_field(name, count);
        if (loading()) value.resize(count);
        return raw_field(value.data(), count);
    }
    std::vector<u8> bytes(value.begin(), value.end());
    bytes_field(name, bytes);
    if (loading() && !failed()) value.assign(bytes.begin(), bytes.end());
}

void StateVisitor::field(std::string_view name, std::vector<bool>& value) {
    std::vector<u8> bytes;
    for (bool bit : value) bytes.push_back(bit ? 1 : 0);
    bytes_field(name, bytes);
    if (!loading() || failed()) return;
    std::vector<bool> loaded;
    for (u8 byte : bytes) {
        if (byte > 1) return fail(name, "out of range");
        loaded.push_back(byte == 1);
    }
    value = std::move(loaded);
}

}  // namespace sim
