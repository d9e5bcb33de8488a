// tu104sim.
#include "guest_harness/cli/command.h"

int main(int argc, char** argv) { return harness::cli::run_command_line(argc, argv); }
