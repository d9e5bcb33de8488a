// tu104sim explain: numbers and names of the driver's interface.
#include "guest_harness/trace/explain.h"

#include <fmt/format.h>

#include "guest_harness/cli/command.h"

namespace harness::cli {

void add_explain(Program& program, Outcome& outcome) {
    auto values = std::make_shared<std::vector<std::string>>();
    Command sub = program.add("explain", "Say what a number or name is: ioctl, control, class, status, Xid, RPC");
    sub.footer("Example:\n  tu104sim explain 0xc030462b 0xc46f NV_ERR_INVALID_CLASS\n"
               "Exit code 0: every value is known; 1: one is in no table.");
    sub.option("value", *values, "numbers (decimal or 0x) or NVIDIA's names", Need::Required);
    sub.action([values, &outcome] {
        for (const std::string& value : *values) {
            std::string text = trace::explain(value);
            print(fmt::format("{}\n", value) + (text.empty() ? "  no table has it\n" : text));
            if (text.empty()) outcome.exit_code = kFailed;
        }
    });
}

}  // namespace harness::cli
