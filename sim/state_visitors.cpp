// Save, load and digest of component state.
#include "sim/state_visitors.h"

#include <fmt/format.h>

namespace sim {

u64 SaveVisitor::begin_list(std::string_view name, u64 count) {
    writer_.list(name, count);
    return count;
}

u64 SaveVisitor::begin_map(std::string_view name, u64 count) {
    writer_.map(name, count);
    return count;
}

void LoadVisitor::fail(std::string_view name, std::string_view why) {
    if (!failed()) error_ = fmt::format("{}: {}", path(name), why);
}

std::string LoadVisitor::path(std::string_view name) const {
    std::string text;
    bool indexed = false;
    auto append = [&](std::string_view part) {
        if (part.empty()) return;
        if (!text.empty()) text += '.';
        text += part;
    };
    for (const Scope& scope : scopes_) {
        append(scope.name);
        indexed = scope.indexed;
        // The item being read was counted when it was taken.
        if (indexed && scope.next_item > 0) text += fmt::format("[{}]", scope.next_item - 1);
    }
    // A failure reported for a list by its own name, while the list is open, is already named.
    if (!(indexed && !scopes_.empty() && scopes_.back().name == name)) append(name);
    return text.empty() ? "state" : text;
}

bool LoadVisitor::take(StateTag tag, std::string_view name, StateToken& token) {
    if (failed()) return false;
    if (!scopes_.empty() && tag != StateTag::End) ++scopes_.back().next_item;
    if (!reader_.next(token)) {
        fail(name, reader_.error().empty() ? "the state ends early" : reader_.error());
        return false;
    }
    if (token.tag != tag || token.name != name) {
        fail(name, token.tag == StateTag::End ? std::string("absent")
                                              : fmt::format("found \"{}\" of another kind or name", token.name));
        return false;
    }
    return true;
}

void LoadVisitor::open(std::string_view name, bool indexed) {
    scopes_.push_back(Scope{std::string(name), indexed, 0});
}

void LoadVisitor::u64_field(std::string_view name, u64& value) {
    StateToken token;
    if (take(StateTag::Word, name, token)) value = token.value;
}

void LoadVisitor::bytes_field(std::string_view name, std::vector<u8>& value) {
    StateToken token;
    if (take(StateTag::Bytes, name, token)) value.assign(token.bytes.begin(), token.bytes.end());
}

void LoadVisitor::begin(std::string_view scope) {
    StateToken token;
    take(StateTag::Begin, scope, token);
    open(scope, false);
}

void LoadVisitor::end() {
    StateToken token;
    if (!failed() && (!reader_.next(token) || token.tag != StateTag::End)) {
        fail("", fmt::format("unexpected \"{}\" at its end", token.name));
    }
    scopes_.pop_back();
}

u64 LoadVisitor::begin_list(std::string_view name, u64) {
    StateToken token;
    u64 count = take(StateTag::List, name, token) ? token.value : 0;
    // Every element takes a byte or more.
    if (count > reader_.remaining()) {
        fail(name, "more elements than bytes are left");
        count = 0;
    }
    open(name, true);
    return count;
}

u64 LoadVisitor::begin_map(std::string_view name, u64) {
    StateToken token;
    u64 count = take(StateTag::Map, name, token) ? token.value : 0;
    if (count > reader_.remaining() / 2) {
        fail(name, "more elements than bytes are left");
        count = 0;
    }
    open(name, true);
    return count;
}

void LoadVisitor::finish() {
    if (failed()) return;
    StateToken token;
    if (reader_.next(token)) fail("", fmt::format("\"{}\" follows the last field", token.name));
    else if (!reader_.error().empty()) fail("", reader_.error());
}

// The length keeps neighbouring fields apart.
void DigestVisitor::bytes_field(std::string_view, std::vector<u8>& value) {
    builder_.add_u64(value.size());
    builder_.add_bytes(value);
}

u64 DigestVisitor::begin_list(std::string_view, u64 count) {
    builder_.add_u64(count);
    return count;
}

}  // namespace sim
