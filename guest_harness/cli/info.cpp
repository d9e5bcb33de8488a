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

void print_json() {
    nlohmann::ordered_json object;
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
    print(object.dump(2) + "\n");
}

void print_text() {
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

}  // namespace

void add_info(Program& program, Outcome&) {
    auto options = std::make_shared<Options>();
    Command sub = program.add("info", "Chips, driver versions, classes, version and build");
    sub.footer("Example:\n  tu104sim info --json");
    sub.flag("--json", options->json, "print one JSON object");
    sub.flag("--controls", options->controls, "every RM control that is answered: half, rung, source");
    sub.flag("--classes", options->classes, "every RM class known by name");
    sub.flag("--uvm", options->uvm, "every ioctl of UVM that is answered: struct, rung, source");
    sub.flag("--hw", options->hw, "what this host's driver and GPU answer of themselves: version, chip, classes, memory");
    for (const char* other : {"--controls", "--classes", "--uvm"}) sub.excludes("--hw", other);
    sub.action([options] {
        if (options->hw) {
            print_hardware("rm", options->json);
        } else if (options->controls) {
            for (const rm::ControlFact& fact : rm::control_facts())
                print(fmt::format("0x{:08x} {:<70} {:<8} {:<11} {}\n", fact.id, fact.name, rm::half_name(fact.half),
                                  rm::rung_name(fact.rung), fact.source));
        } else if (options->classes) {
            for (const trace::IdName& row : trace::all_classes())
                print(fmt::format("0x{:08x} {} {}\n", row.id, row.name, row.bytes));
        } else if (options->uvm) {
            for (const rm::UvmFact& fact : rm::uvm_facts())
                print(fmt::format("0x{:08x} {:<45} {:<14} {:>5} bytes  {:<11} {}\n", fact.number, fact.name, fact.node,
                                  fact.bytes, fact.rung, fact.source));
        } else if (options->json) {
            print_json();
        } else {
            print_text();
        }
    });
}

}  // namespace harness::cli
