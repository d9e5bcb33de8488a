// Subcommands and their options, declared without the parsing library, which only program.cpp includes: it is a large header.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/types.h"

namespace CLI {
class App;
}

namespace harness::cli {

using namespace sim;

enum class Need : u8 { Optional, Required };

// One subcommand. `names` is "--seed", "-o,--output FILE" (the help says what the value is), or a bare word for a positional argument.
class Command {
public:
    explicit Command(CLI::App& app) : app_(app) {}
    void footer(const std::string& text);
    // An empty text is refused: it is the sign of a variable that was not set.
    void option(const std::string& names, std::string& value, const std::string& help, Need need = Need::Optional);
    // Numbers are decimal or 0x and hexadecimal, of 64 bits; anything else (a sign, a blank, nothing) is refused.
    void option(const std::string& names, u64& value, const std::string& help, Need need = Need::Optional);
    void option(const std::string& names, std::optional<u64>& value, const std::string& help, Need need = Need::Optional);
    // Takes every remaining argument of its kind.
    void option(const std::string& names, std::vector<std::string>& value, const std::string& help, Need need = Need::Optional);
    void flag(const std::string& names, bool& value, const std::string& help);
    // The two cannot be given together.
    void excludes(const std::string& one, const std::string& other);
    // `one` means nothing without `other`.
    void needs(const std::string& one, const std::string& other);
    void action(std::function<void()> run);

private:
    CLI::App& app_;
};

// The whole command line; add() declares, parse() runs the chosen subcommand's action.
class Program {
public:
    Program(const std::string& description, const std::string& footer, const std::string& version);
    ~Program();
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;
    Command add(const std::string& name, const std::string& description);
    // False: help or the version was asked for, and is printed. Throws HostError when the command line is wrong; exceptions of actions
    // pass through.
    bool parse(int argc, char** argv);
    // A script that completes subcommands and options in bash.
    std::string bash_completion() const;

private:
    CLI::App* app_;
};

}  // namespace harness::cli
