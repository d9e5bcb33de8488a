// The only file that knows the command line library.
#include "guest_harness/cli/program.h"

#include <CLI/CLI.hpp>

namespace harness::cli {

namespace {

void need(CLI::Option* option, Need need) {
    if (need == Need::Required) option->required();
}

}  // namespace

void Command::footer(const std::string& text) { app_.footer(text); }

void Command::option(const std::string& names, std::string& value, const std::string& help, Need how) {
    CLI::Option* option = app_.add_option(names, value, help);
    if (!value.empty()) option->capture_default_str();
    need(option, how);
}

void Command::option(const std::string& names, u64& value, const std::string& help, Need how) {
    CLI::Option* option = app_.add_option(names, value, help);
    if (value != ~u64{0}) option->capture_default_str();
    need(option, how);
}

void Command::option(const std::string& names, std::vector<std::string>& value, const std::string& help, Need how) {
    CLI::Option* option = app_.add_option(names, value, help);
    if (how == Need::Required) option->required()->expected(-1);
}

void Command::flag(const std::string& names, bool& value, const std::string& help) { app_.add_flag(names, value, help); }

void Command::excludes(const std::string& one, const std::string& other) {
    app_.get_option(one)->excludes(app_.get_option(other));
}

void Command::action(std::function<void()> run) { app_.callback(std::move(run)); }

Program::Program(const std::string& description, const std::string& footer, const std::string& version)
    : app_(new CLI::App(description, "tu104sim")) {
    app_->footer(footer);
    app_->set_version_flag("--version", version);
    app_->require_subcommand(1);
}

Program::~Program() { delete app_; }

Command Program::add(const std::string& name, const std::string& description) {
    return Command(*app_->add_subcommand(name, description));
}

bool Program::parse(int argc, char** argv, bool& help) {
    help = false;
    try {
        app_->parse(argc, argv);
        return true;
    } catch (const CLI::ParseError& error) {
        help = app_->exit(error) == 0;
        return false;
    }
}

}  // namespace harness::cli
