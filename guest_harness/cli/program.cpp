// The only file that knows the command line library.
#include "guest_harness/cli/program.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>

#include "sim/check.h"

namespace harness::cli {

namespace {

void need(CLI::Option* option, Need need) {
    if (need == Need::Required) option->required();
}

// "-o,--output FILE": the names, and what the help calls the value. A positional argument is its own word.
struct Declared {
    explicit Declared(const std::string& text) : names(text.substr(0, text.find(' '))) {
        if (names.size() < text.size()) value = text.substr(names.size() + 1);
    }
    void describe(CLI::Option* option) const { option->type_name(value); }
    std::string names, value;
};

std::optional<u64> number(std::string_view text) {
    int base = 10;
    if (text.substr(0, 2) == "0x") {
        base = 16;
        text.remove_prefix(2);
    }
    u64 value = 0;
    const char* end = text.data() + text.size();
    auto [at, error] = std::from_chars(text.data(), end, value, base);
    if (error != std::errc() || at != end) return std::nullopt;
    return value;
}

// The library's own conversion wraps signs, saturates what is too large and takes an empty text for 0.
CLI::Option* add_number(CLI::App& app, const std::string& names, const std::string& help, std::function<void(u64)> set) {
    auto convert = [names, set = std::move(set)](const std::string& text) {
        std::optional<u64> value = number(text);
        if (!value) throw CLI::ValidationError(names, "'" + text + "' is not a number of 64 bits");
        set(*value);
    };
    return app.add_option_function<std::string>(names, convert, help)->type_name("N");
}

// As the library's, without the lists of what an option needs and excludes: who gives both is told then.
class HelpFormatter final : public CLI::Formatter {
public:
    std::string make_option_opts(const CLI::Option* option) const override {
        if (option->get_type_size() == 0) return {};
        std::string text;
        if (!option->get_type_name().empty()) text += " " + option->get_type_name();
        if (!option->get_default_str().empty()) text += "=" + option->get_default_str();
        if (option->get_expected_max() == CLI::detail::expected_max_vector_size) text += " ...";
        if (option->get_required()) text += " REQUIRED";
        return text;
    }
};

}  // namespace

void Command::footer(const std::string& text) { app_.footer(text); }

void Command::option(const std::string& names, std::string& value, const std::string& help, Need how) {
    const Declared declared(names);
    CLI::Option* option = app_.add_option(declared.names, value, help);
    declared.describe(option);
    if (!value.empty()) option->capture_default_str();
    option->check([](const std::string& text) { return text.empty() ? std::string("the value is empty") : std::string(); });
    need(option, how);
}

void Command::option(const std::string& names, u64& value, const std::string& help, Need how) {
    CLI::Option* option = add_number(app_, names, help, [&value](u64 given) { value = given; });
    if (value != ~u64{0}) option->default_str(std::to_string(value));
    need(option, how);
}

void Command::option(const std::string& names, std::optional<u64>& value, const std::string& help, Need how) {
    need(add_number(app_, names, help, [&value](u64 given) { value = given; }), how);
}

void Command::option(const std::string& names, std::vector<std::string>& value, const std::string& help, Need how) {
    const Declared declared(names);
    CLI::Option* option = app_.add_option(declared.names, value, help);
    declared.describe(option);
    if (how == Need::Required) option->required()->expected(-1);
    // One value each time the option is given: the guest's name may follow it.
    if (names.front() == '-') option->allow_extra_args(false);
}

void Command::flag(const std::string& names, bool& value, const std::string& help) { app_.add_flag(names, value, help); }

void Command::excludes(const std::string& one, const std::string& other) {
    app_.get_option(one)->excludes(app_.get_option(other));
}

void Command::needs(const std::string& one, const std::string& other) {
    app_.get_option(one)->needs(app_.get_option(other));
}

void Command::action(std::function<void()> run) { app_.callback(std::move(run)); }

Program::Program(const std::string& description, const std::string& footer, const std::string& version)
    : app_(new CLI::App(description, "tu104sim")) {
    app_->formatter(std::make_shared<HelpFormatter>());  // subcommands take it over
    app_->footer(footer);
    app_->set_version_flag("--version", version);
    app_->require_subcommand(1);
}

Program::~Program() { delete app_; }

Command Program::add(const std::string& name, const std::string& description) {
    return Command(*app_->add_subcommand(name, description));
}

bool Program::parse(int argc, char** argv) {
    try {
        app_->parse(argc, argv);
        return true;
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) {  // help or version was asked for
            app_->exit(error);
            return false;
        }
        const std::string first = argc > 1 ? argv[1] : "";
        const std::vector<CLI::App*> subs = app_->get_subcommands([&first](const CLI::App* app) { return app->get_name() == first; });
        if (subs.empty() && !first.empty() && first.front() != '-')
            throw HostError(fmt::format("there is no command \"{}\"; `tu104sim --help` lists them", first));
        throw HostError(fmt::format("{}; see `tu104sim {}--help`", error.what(), subs.empty() ? std::string() : first + " "));
    }
}

std::string Program::bash_completion() const {
    const auto words_of = [](const CLI::App& app) {
        std::string words;
        for (const CLI::Option* option : app.get_options()) {
            for (const std::string& name : option->get_lnames()) words += " --" + name;
            for (const std::string& name : option->get_snames()) words += " -" + name;
        }
        return words;
    };
    std::string names, cases;
    for (const CLI::App* sub : app_->get_subcommands([](const CLI::App*) { return true; })) {
        names += sub->get_name() + " ";
        cases += "        " + sub->get_name() + ") words=\"" + words_of(*sub).substr(1) + "\" ;;\n";
    }
    return "# bash completion of tu104sim: source <(tu104sim completion bash)\n"
           "_tu104sim() {\n"
           "    local word=\"${COMP_WORDS[COMP_CWORD]}\" words=\"\"\n"
           "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
           "        COMPREPLY=($(compgen -W \"" + names + words_of(*app_).substr(1) + "\" -- \"$word\"))\n"
           "        return\n"
           "    fi\n"
           "    case \"${COMP_WORDS[1]}\" in\n" + cases +
           "    esac\n"
           "    if [[ \"$word\" == -* ]]; then COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
           "    else COMPREPLY=($(compgen -f -- \"$word\")); fi\n"
           "}\n"
           "complete -o filenames -F _tu104sim tu104sim\n";
}

}  // namespace harness::cli
