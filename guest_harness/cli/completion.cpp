// tu104sim completion: a script for the shell.
#include "guest_harness/cli/command.h"

namespace harness::cli {

void add_completion(Program& program, Outcome&) {
    auto shell = std::make_shared<std::string>();
    Command sub = program.add("completion", "Print a script that completes commands and options in a shell");
    sub.footer("Example:\n  source <(tu104sim completion bash)");
    sub.option("shell", *shell, "bash", Need::Required);
    sub.action([shell, &program] {
        if (*shell != "bash") throw sim::HostError("there is no completion for \"" + *shell + "\", only for bash");
        print(program.bash_completion());
    });
}

}  // namespace harness::cli
