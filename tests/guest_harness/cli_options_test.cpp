// Options that cannot mean anything are refused in one sentence that names them, and what a program reads can be parsed.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/support/command_line.h"
#include "tests/support/trace_samples.h"

using test_support::Finished;
using test_support::guest;
using test_support::tu104sim;

namespace {

std::string sample(const std::string& name) {
    const std::string path = test_support::scratch_path(name);
    test_support::write_file(path, harness::trace::encode(test_support::sample_trace()));
    return "'" + path + "'";
}

}  // namespace

TEST_CASE("cli: standard output is the answer alone where a program reads it; the guest's text goes to standard error") {
    const std::string client = "-- " + guest("rm_client");
    const Finished json = tu104sim("run --json " + client);
    CHECK(json.exit_code == 0);
    CHECK(nlohmann::json::parse(json.output).at("exit_code") == 0);
    CHECK(json.errors.find("all checks passed") != std::string::npos);
    const Finished digest = tu104sim("run --digest-only " + client);
    CHECK(digest.output.size() == 33);
    CHECK(digest.output.find_first_not_of("0123456789abcdef\n") == std::string::npos);
    const Finished plain = tu104sim("run " + client);
    CHECK(plain.output.find("all checks passed") != std::string::npos);
    CHECK(plain.output.find("digest " + digest.output) != std::string::npos);
}

TEST_CASE("cli: --env is NAME=VALUE") {
    for (const char* wrong : {"FOO", "=x", "''"}) {
        const Finished done = tu104sim(std::string("run --env ") + wrong + " -- " + guest("rm_client"));
        CHECK_MESSAGE(done.exit_code == 2, wrong);
        CHECK_MESSAGE(done.says("must be NAME=VALUE"), wrong);
    }
    // One value each time: what follows is the guest.
    const Finished twice = tu104sim("run --env A=1 --env B= --boot warm " + guest("rm_client"));
    CHECK_MESSAGE(twice.exit_code == 0, twice.errors);
    CHECK(tu104sim("run --env FOO= --boot warm -- " + guest("rm_client")).exit_code == 0);
}

TEST_CASE("cli: options that mean nothing together are refused by name") {
    const std::string trace = sample("cli_refused.trace");
    const std::string twin = test_support::scratch_path("cli_refused.textproto");
    test_support::write_file(twin, tu104sim("show --text " + trace).output);
    const std::string cubin = "'" TU104SIM_BINARY_DIR "/guests/rm_client'";
    struct Row {
        std::string arguments;
        const char* names;
    };
    for (const Row& row : {Row{"conform answers.jsonl --hw", "--hw"}, Row{"conform answers.jsonl --count 3", "--count"},
                           Row{"conform --record x --show 3", "--show"}, Row{"explore --points " + trace, "--points"},
                           Row{"run --json --digest-only -- x", "--digest-only"}, Row{"show --text --raw " + trace, "--raw"},
                           Row{"show --raw " + cubin, "--raw"}, Row{"show --first 3 --last 2 " + trace, "--first"},
                           Row{"import --gpu t4 '" + twin + "' -o x", "--gpu"}, Row{"run --time-limit 0 -- x", "--time-limit"},
                           Row{"run --break-go-on -- x", "--break"}, Row{"run --abort-after 3 -- x", "--hw"},
                           Row{"replay --report x.html " + trace, "--hw"}, Row{"info --hw --uvm", "--hw"},
                           Row{"explore --seeds 0..2 --shard 4/5 " + trace, "--shard"}}) {
        const Finished done = tu104sim(row.arguments);
        CHECK_MESSAGE(done.exit_code == 2, row.arguments);
        CHECK_MESSAGE(done.says(row.names), row.arguments);
    }
}

TEST_CASE("cli: an empty value is refused by the option's name") {
    for (const char* option : {"--record", "--journal", "--timeline", "--faults", "--engines", "--gpu", "--driver", "--boot"}) {
        const Finished done = tu104sim(std::string("run ") + option + " '' -- x");
        CHECK_MESSAGE(done.exit_code == 2, option);
        CHECK_MESSAGE(done.says(std::string(option) + ": the value is empty"), option, done.errors);
    }
    CHECK(tu104sim("show ''").exit_code == 2);
}

TEST_CASE("cli: a mistake in an option reads like every other error") {
    for (const char* arguments : {"show --no-such x", "no_such_command", "corpus", "replay --shard"}) {
        const Finished done = tu104sim(arguments);
        CHECK_MESSAGE(done.exit_code == 2, arguments);
        CHECK_MESSAGE(done.errors.rfind("tu104sim: ", 0) == 0, arguments, ": ", done.errors);
        CHECK_MESSAGE(done.output.empty(), arguments);
    }
    CHECK(tu104sim("--help").errors.empty());
}

TEST_CASE("cli: a selection that holds nothing is told, and is no success") {
    const std::string trace = sample("cli_nothing.trace");
    const Finished shown = tu104sim("show --first 1000 " + trace);
    CHECK(shown.exit_code == 2);
    CHECK(shown.says("--first is 1000"));
    CHECK(shown.output.empty());
    CHECK(tu104sim("explain no_such_name").exit_code == 1);
}

TEST_CASE("cli: lists of info go together, as text and as JSON") {
    const Finished text = tu104sim("info --controls --uvm");
    CHECK(text.exit_code == 0);
    CHECK(text.says("NV2080_CTRL_CMD_MC_GET_ARCH_INFO"));
    CHECK(text.says("UVM_INITIALIZE"));
    const auto json = nlohmann::json::parse(tu104sim("info --controls --classes --uvm --json").output);
    CHECK(json.size() == 3);
    CHECK(json.at("controls").size() > 100);
    CHECK(json.at("classes").at(0).contains("parameter_bytes"));
    CHECK(json.at("uvm").at(0).at("rung").is_string());
}

TEST_CASE("cli: bash completes commands and options") {
    const Finished script = tu104sim("completion bash");
    REQUIRE(script.exit_code == 0);
    const std::string path = test_support::scratch_path("cli_completion.bash");
    test_support::write_file(path, script.output + "COMP_WORDS=(tu104sim replay --go) COMP_CWORD=2\n_tu104sim\necho \"<${COMPREPLY[*]}>\"\n"
                                                   "COMP_WORDS=(tu104sim expl) COMP_CWORD=1\n_tu104sim\necho \"<${COMPREPLY[*]}>\"\n");
    const Finished done = tu104sim("--version >/dev/null; bash '" + path + "'");
    CHECK(done.output == "<--goto>\n<explore explain>\n");
    CHECK(tu104sim("completion fish").exit_code == 2);
}
