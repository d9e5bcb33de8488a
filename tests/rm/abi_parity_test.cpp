// P12: every struct, number and size that the simulator uses, against a table that was made from the headers of each driver version
// independently of rm/abi (tests/rm/data/abi_parity.tsv.zst).
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <sstream>
#include <vector>

#include "rm/abi/classes.h"
#include "rm/abi/controls.h"
#include "rm/abi/layout.h"
#include "rm/abi/rpc.h"
#include "rm/abi/status.h"
#include "rm/client/class_rules.h"
#include "rm/client/control_unit.h"
#include "rm/control_facts.h"
#include "rm/versions.h"
#include "tests/support/packed_data.h"

using namespace rm;

namespace {

struct Line {
    char kind = 0;
    std::string name;
    std::vector<std::string> cells;
};

std::vector<Line> table() {
    std::vector<Line> out;
    std::istringstream text(test_support::read_packed("tests/rm/data/abi_parity.tsv.zst"));
    std::string row;
    while (std::getline(text, row)) {
        if (row.empty() || row[0] == '#') continue;
        std::istringstream words(row);
        Line line;
        words >> line.kind >> line.name;
        std::string cell;
        while (words >> cell) line.cells.push_back(cell);
        out.push_back(line);
    }
    return out;
}

std::optional<u32> number(const std::string& cell) {
    if (cell == "-") return std::nullopt;
    u32 value = 0;
    bool hex = cell.starts_with("0x");
    std::from_chars(cell.data() + (hex ? 2 : 0), cell.data() + cell.size(), value, hex ? 16 : 10);
    return value;
}

constexpr std::size_t kRootColumn = 4;

const DriverVersion& version(std::size_t column) { return *find_version(version_names()[column]).version; }

}  // namespace

// Sizes that are known to differ and why that does not matter.
struct Exception {
    std::string_view name, version, reason;
};
constexpr Exception kExceptions[] = {
    {"RUSD_POWER_LIMITS", "550.144.03", "shared-data block of 550 only; the region is served in the layouts of 570.144"},
    {"RUSD_CLK_THROTTLE_REASON", "580.95.05", "grew in 580; the region is served in the layouts of 570.144"},
    {"MESSAGE_QUEUE_COLLECTION", "535.183.01", "the driver's own book-keeping, never crosses a surface"},
    {"MESSAGE_QUEUE_COLLECTION", "550.144.03", "likewise"},
};
static_assert(std::size(kExceptions) <= 5);

bool excepted(std::string_view name, std::string_view version) {
    return std::any_of(std::begin(kExceptions), std::end(kExceptions),
                       [&](const Exception& row) { return row.name == name && row.version == version; });
}

TEST_CASE("P12: struct sizes of every driver version") {
    std::set<std::string> known;
    u32 checked = 0;
    for (const Line& line : table()) {
        if (line.kind == 'Z') {
            known.insert(line.name);
            CHECK(struct_bytes(root_version(), line.name) == number(line.cells[0]));
        }
        if (line.kind != 'S') continue;
        known.insert(line.name);
        REQUIRE(line.cells.size() == 6);
        for (std::size_t i = 0; i < 6; ++i) {
            std::optional<u32> right = number(line.cells[i]);
            // A version without the struct has no use for its size.
            if (right && !excepted(line.name, version_names()[i]))
                CHECK_MESSAGE(struct_bytes(version(i), line.name) == *right, line.name, " at ", version_names()[i]);
            ++checked;
        }
    }
    CHECK(checked > 3000);
    for (const abi::StructRow& row : abi::struct_rows()) CHECK_MESSAGE(known.count(std::string(row.name)) == 1, row.name);
}

TEST_CASE("P12: fields of every struct at 570.144") {
    std::map<std::string, std::set<std::string>> known;
    for (const Line& line : table()) {
        if (line.kind != 'F') continue;
        known[line.name].insert(line.cells[0]);
        const abi::StructRow* row = abi::find_struct(line.name);
        REQUIRE(row != nullptr);
        for (const abi::FieldRow& field : row->fields) {
            if (field.name != line.cells[0]) continue;
            CHECK_MESSAGE((field.offset == number(line.cells[1]) && field.bytes == number(line.cells[2])), line.name, ".", field.name);
        }
    }
    u32 compared = 0;
    for (const abi::StructRow& row : abi::struct_rows())
        for (const abi::FieldRow& field : row.fields) {
            bool found = known[std::string(row.name)].count(std::string(field.name)) == 1;
            CHECK_MESSAGE(found, row.name, ".", field.name);
            compared += found ? 1u : 0u;
        }
    CHECK(compared > 2000);
}

TEST_CASE("P12: every control that is answered is there in the versions whose driver exports it, and in no other") {
    std::set<u32> known;
    for (const Line& line : table()) {
        if (line.kind != 'E') continue;
        const u32 id = number(line.name).value();
        known.insert(id);
        REQUIRE(line.cells.size() == 6);
        for (std::size_t i = 0; i < 6; ++i) {
            const bool there = control_bytes(version(i), id).has_value() && client::control_exported(id);
            CHECK_MESSAGE(there == (line.cells[i] == "1"), line.name, " at ", version_names()[i]);
        }
    }
    for (const ControlFact& fact : control_facts())
        if (!client::ControlUnit::is_deprecated(fact.id)) CHECK_MESSAGE(known.count(fact.id) == 1, fact.name);
}

TEST_CASE("P12: sizes of controls and of allocation parameters in every driver version") {
    u32 checked = 0;
    // One id may have two names, one of them without parameters: the exported one counts.
    std::map<u32, std::array<std::set<u32>, 6>> controls;
    std::map<u32, std::array<std::set<u32>, 6>> allocs;
    std::set<u32> unknown;  // the table has no size where an export has one
    for (const Line& line : table()) {
        if (line.kind != 'C' && line.kind != 'A') continue;
        for (std::size_t i = 0; i < 6; ++i) {
            u32 id = *number(line.name);
            if (line.cells[i] == "?") unknown.insert(id);
            else if (std::optional<u32> bytes = number(line.cells[i])) (line.kind == 'C' ? controls : allocs)[id][i].insert(*bytes);
        }
    }
    for (const auto& control : controls) {
        const auto& id = control.first;
        const auto& columns = control.second;
        if (abi::find_control(id) == nullptr) continue;
        for (std::size_t i = 0; i < 6; ++i) {
            std::optional<u32> ours = control_bytes(version(i), id);
            CAPTURE(id);
            CAPTURE(version_names()[i]);
            if (unknown.count(id) == 1 && i != kRootColumn) continue;
            // 580 has other controls at these numbers than those of the names: the test of the exports holds them.
            if ((id == 0x20801357 || id == 0x20801359) && i == 5) continue;
            if (columns[i].empty()) CHECK(!ours);
            else CHECK((ours && columns[i].count(*ours) == 1));
            ++checked;
        }
    }
    CHECK(unknown.size() < 40);
    for (const auto& row : allocs) {
        const auto& id = row.first;
        const auto& columns = row.second;
        for (std::size_t i = 0; i < 6; ++i) {
            std::optional<u32> ours = alloc_bytes(version(i), id);
            CAPTURE(id);
            CAPTURE(version_names()[i]);
            if (columns[i].empty()) CHECK(!ours);
            else CHECK((ours && columns[i].count(*ours) == 1));
            ++checked;
        }
    }
    CHECK(checked > 8000);
}

TEST_CASE("P12: numbers of RPCs in every driver version, and status codes") {
    u32 checked = 0;
    std::map<u32, std::set<std::string_view>> statuses;  // two codes have two names each
    const std::vector<Line> lines = table();
    for (const Line& line : lines)
        if (line.kind == 'T') statuses[*number(line.cells[0])].insert(line.name);
    for (const auto& [code, names] : statuses) CHECK(names.count(abi::status_name(code)) == 1);
    CHECK(statuses.size() > 140);
    for (const Line& line : lines) {
        if (line.kind != 'R') continue;
        for (std::size_t i = 0; i < 6; ++i) {
            CAPTURE(line.name);
            CAPTURE(version_names()[i]);
            CHECK(rpc_number(version(i), line.name) == number(line.cells[i]));
            ++checked;
        }
    }
    CHECK(checked > 1500);
}
