// See fault_plan.h.
#include "guest_harness/fault_plan.h"

#include <algorithm>
#include <charconv>
#include <sstream>

#include <fmt/format.h>

#include "guest_harness/input_file.h"

namespace harness {

using sim::u64;

namespace {

class Line {
public:
    Line(std::string_view source, u64 number) : source_(source), number_(number) {}
    [[noreturn]] void fail(std::string_view why) const {
        throw sim::HostError(fmt::format("{}:{}: {}", source_, number_, why));
    }
    u64 integer(std::string_view text, std::string_view what) const {
        u64 value = 0;
        auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error != std::errc() || end != text.data() + text.size())
            fail(fmt::format("{} is \"{}\", must be a number", what, text));
        return value;
    }
    // A number, or a time in picoseconds.
    u64 argument(std::string_view text) const {
        struct Unit {
            std::string_view suffix;
            u64 ps;
        };
        constexpr Unit kUnits[] = {{"ps", 1}, {"ns", 1'000}, {"us", 1'000'000}, {"ms", 1'000'000'000}};
        for (const Unit& unit : kUnits) {
            if (!text.ends_with(unit.suffix)) continue;
            u64 value = integer(text.substr(0, text.size() - unit.suffix.size()), "argument");
            if (value > ~u64{0} / unit.ps) fail("argument is longer than time");
            return value * unit.ps;
        }
        return integer(text, "argument");
    }

private:
    std::string_view source_;
    u64 number_;
};

PlannedFault parse_rule(const std::string& text, const Line& line) {
    std::istringstream words(text);
    PlannedFault fault;
    words >> fault.point;
    const auto& rows = fault_points();
    auto row = std::find_if(rows.begin(), rows.end(), [&](const FaultPointRow& each) { return each.name == fault.point; });
    if (row == rows.end()) {
        std::vector<std::string_view> names;
        for (const FaultPointRow& each : rows) names.push_back(each.name);
        line.fail(fmt::format("no fault point \"{}\"; there are {}", fault.point, fmt::join(names, ", ")));
    }
    bool has_argument = false;
    for (std::string word; words >> word;) {
        std::size_t equals = word.find('=');
        std::string_view key = std::string_view(word).substr(0, equals);
        std::string_view value = equals == std::string::npos ? std::string_view() : std::string_view(word).substr(equals + 1);
        if (key == "ratio") {
            std::size_t slash = value.find('/');
            fault.rule.numerator = line.integer(value.substr(0, slash), "ratio");
            fault.rule.denominator = slash == std::string::npos ? 1 : line.integer(value.substr(slash + 1), "ratio");
            if (fault.rule.denominator == 0 || fault.rule.numerator > fault.rule.denominator)
                line.fail(fmt::format("ratio {} is not between 0 and 1", value));
        } else if (key == "from") {
            fault.rule.first_visit = line.integer(value, "from");
        } else if (key == "to") {
            fault.rule.last_visit = line.integer(value, "to");
        } else if (key == "argument") {
            if (row->argument.empty()) line.fail(fmt::format("{} takes no argument", fault.point));
            fault.rule.argument = line.argument(value);
            has_argument = true;
        } else {
            line.fail(fmt::format("\"{}\": a rule has ratio, from, to and argument", word));
        }
    }
    if (!row->argument.empty() && !has_argument)
        line.fail(fmt::format("{} needs an argument: {}", fault.point, row->argument));
    if (fault.rule.first_visit > fault.rule.last_visit) line.fail("from is after to");
    return fault;
}

}  // namespace

const std::vector<FaultPointRow>& fault_points() {
    static const std::vector<FaultPointRow> rows = {
#define FAULT_POINT(constant, name, argument, effect) {name, argument, effect},
#include "gpu_model/fault_points.def"
#include "rm/gsp/fault_points.def"
#undef FAULT_POINT
    };
    return rows;
}

std::vector<PlannedFault> parse_fault_plan(std::string_view text, std::string_view source) {
    std::vector<PlannedFault> plan;
    std::istringstream lines{std::string(text)};
    u64 number = 0;
    for (std::string line; std::getline(lines, line);) {
        ++number;
        line = line.substr(0, line.find('#'));
        if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
        Line where(source, number);
        PlannedFault fault = parse_rule(line, where);
        for (const PlannedFault& earlier : plan) {
            if (earlier.point == fault.point) where.fail(fmt::format("{} is named twice", fault.point));
        }
        plan.push_back(fault);
    }
    return plan;
}

std::vector<PlannedFault> read_fault_plan(const std::string& path) {
    return parse_fault_plan(read_input_file(path, kPlanBytesMax), path);
}

std::string fault_plan_text(const std::vector<PlannedFault>& plan) {
    std::string text;
    for (const PlannedFault& fault : plan) {
        const sim::FaultRule& rule = fault.rule;
        const sim::FaultRule none;
        text += fault.point;
        if (rule.numerator != none.numerator || rule.denominator != none.denominator)
            text += fmt::format(" ratio={}/{}", rule.numerator, rule.denominator);
        if (rule.first_visit != none.first_visit) text += fmt::format(" from={}", rule.first_visit);
        if (rule.last_visit != none.last_visit) text += fmt::format(" to={}", rule.last_visit);
        for (const FaultPointRow& row : fault_points())
            if (row.name == fault.point && !row.argument.empty()) text += fmt::format(" argument={}", rule.argument);
        text += '\n';
    }
    return text;
}

void arm_faults(sim::Kernel& kernel, const std::vector<PlannedFault>& plan) {
    for (const PlannedFault& fault : plan) kernel.faults().arm(fault.point, fault.rule);
}

}  // namespace harness
