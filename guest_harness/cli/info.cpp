// tu104sim info: what this program models.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "gpu_model/chip.h"
#include "gpu_model/engine/method_table.h"
#include "guest_harness/cli/command.h"
#include "guest_harness/cli/hw.h"
#include "guest_harness/trace/names.h"
#include "rm/control_facts.h"
#include "rm/uvm_facts.h"
#include "rm/versions.h"

namespace harness::cli {

namespace {

struct Options {
    bool json = false;
    bool controls = false;
    bool classes = false;
    bool uvm = false;
    bool hw = false;
};

std::string_view build_text() {
#if defined(__clang__)
    return "clang++ " __clang_version__;
#else
    return "g++ " __VERSION__;
#endif
}

using Json = nlohmann::ordered_json;

Json summary_json() {
    Json object;
    object["version"] = TU104SIM_VERSION;
    object["build"] = build_text();
    object["unicorn"] = TU104SIM_UNICORN_VERSION;
    object["trace_schema"] = trace::kSchemaVersion;
    object["trace_format_compatibility"] = trace::kFormatCompatibility;
    object["trace_behaviour_compatibility"] = trace::kBehaviourCompatibility;
    for (std::string_view name : gpu::chip_names()) {
        const gpu::ChipSpec* spec = gpu::find_chip(name);
        object["chips"].push_back({{"name", name}, {"marketing", spec->marketing}, {"pci_device_id", spec->pci_device_id},
                                   {"vram_bytes", spec->vram_bytes}, {"sm_count", spec->sm_count},
                                   {"engines", spec->engines.size()}});
    }
    for (std::string_view name : rm::version_names()) object["drivers"].push_back(name);
    for (const gpu::MethodTable& table : gpu::method_tables())
        object["channel_classes"].push_back({{"id", table.class_id()}, {"name", table.class_name()}});
    return object;
}

void print_summary() {
    print(fmt::format("tu104sim {}  {}  unicorn {}\n", TU104SIM_VERSION, build_text(), TU104SIM_UNICORN_VERSION));
    print(fmt::format("trace schema {}, format compatibility {}, behaviour compatibility {}\n", trace::kSchemaVersion,
                      trace::kFormatCompatibility, trace::kBehaviourCompatibility));
    for (std::string_view name : gpu::chip_names()) {
        const gpu::ChipSpec* spec = gpu::find_chip(name);
        print(fmt::format("chip {:<8} {} (10de:{:04x}), {} MiB, {} SMs, {} engines\n", name, spec->marketing, spec->pci_device_id,
                          spec->vram_bytes >> 20, spec->sm_count, spec->engines.size()));
    }
    for (std::string_view name : rm::version_names()) print(fmt::format("driver {}\n", name));
    for (const gpu::MethodTable& table : gpu::method_tables())
        print(fmt::format("class {:04X} {}\n", table.class_id(), table.class_name()));
}

Json controls_json() {
    Json rows = Json::array();
    for (const rm::ControlFact& fact : rm::control_facts())
        rows.push_back({{"id", fact.id}, {"name", fact.name}, {"half", rm::half_name(fact.half)},
                        {"rung", rm::rung_name(fact.rung)}, {"source", fact.source}});
    return rows;
}

void print_controls() {
    for (const rm::ControlFact& fact : rm::control_facts())
        print(fmt::format("0x{:08x} {:<70} {:<8} {:<11} {}\n", fact.id, fact.name, rm::half_name(fact.half),
                          rm::rung_name(fact.rung), fact.source));
}

Json classes_json() {
    Json rows = Json::array();
    for (const trace::IdName& row : trace::all_classes())
        rows.push_back({{"id", row.id}, {"name", row.name}, {"parameter_bytes", row.bytes}});
    return rows;
}

void print_classes() {
    for (const trace::IdName& row : trace::all_classes()) print(fmt::format("0x{:08x} {} {}\n", row.id, row.name, row.bytes));
}

Json uvm_json() {
    Json rows = Json::array();
    for (const rm::UvmFact& fact : rm::uvm_facts())
        rows.push_back({{"number", fact.number}, {"name", fact.name}, {"node", fact.node}, {"bytes", fact.bytes},
                        {"rung", fact.rung}, {"source", fact.source}});
    return rows;
}

void print_uvm() {
    for (const rm::UvmFact& fact : rm::uvm_facts())
        print(fmt::format("0x{:08x} {:<45} {:<14} {:>5} bytes  {:<11} {}\n", fact.number, fact.name, fact.node, fact.bytes,
                          fact.rung, fact.source));
}

// One list that a switch asks for. Several switches print one list after the other.
struct List {
    bool wanted;
    const char* name;
    Json (*json)();
    void (*text)();
};

void execute(const Options& options) {
    const List lists[] = {{options.controls, "controls", &controls_json, &print_controls},
                          {options.classes, "classes", &classes_json, &print_classes},
                          {options.uvm, "uvm", &uvm_json, &print_uvm}};
    if (options.hw) return print_hardware("rm", options.json);
    const bool any = options.controls || options.classes || options.uvm;
    if (options.json) {
        Json object = any ? Json::object() : summary_json();
        for (const List& list : lists)
            if (list.wanted) object[list.name] = list.json();
        print(object.dump(2) + "\n");
        return;
    }
    if (!any) print_summary();
    for (const List& list : lists)
        if (list.wanted) list.text();
}

}  // namespace

void add_info(Program& program, Outcome&) {
    auto options = std::make_shared<Options>();
    Command sub = program.add("info", "Chips, driver versions, classes, version and build");
    sub.footer("Examples:\n  tu104sim info\n  tu104sim info --controls --uvm --json");
    sub.flag("--json", options->json, "print what was asked for as one JSON object");
    sub.flag("--controls", options->controls, "every RM control that is answered: half, rung, source");
    sub.flag("--classes", options->classes, "every RM class known by name");
    sub.flag("--uvm", options->uvm, "every ioctl of UVM that is answered: struct, rung, source");
    sub.flag("--hw", options->hw, "what this host's driver and GPU answer of themselves: version, chip, classes, memory");
    for (const char* other : {"--controls", "--classes", "--uvm"}) sub.excludes("--hw", other);
    sub.action([options] { execute(*options); });
}

}  // namespace harness::cli
