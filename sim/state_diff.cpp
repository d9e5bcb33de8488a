// Comparison of two state streams: both become trees, which are walked side by side.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/state_stream.h"

namespace sim {
namespace {

constexpr unsigned kDepthMax = 64;  // of nested scopes; the input may be hostile
constexpr std::size_t kTextBytesMax = 64;

struct Node {
    StateToken token;
    std::vector<Node> children;
};

bool count_holds(const Node& node) {
    if (node.token.tag == StateTag::List) return node.token.value == node.children.size();
    // A count near 2^64 must not come out right by wrapping.
    if (node.token.tag == StateTag::Map) {
        return node.children.size() % 2 == 0 && node.token.value == node.children.size() / 2;
    }
    return true;
}

// Reads the children of an open scope, to its End (or, at depth 0, to the end of the stream). False at damage.
bool parse(StateReader& reader, std::vector<Node>& children, unsigned depth, std::string& error) {
    StateToken token;
    while (reader.next(token)) {
        if (token.tag == StateTag::End) {
            if (depth > 0) return true;
            error = "an end without a beginning";
            return false;
        }
        children.push_back(Node{token, {}});
        if (token.tag == StateTag::Word || token.tag == StateTag::Bytes) continue;
        if (depth == kDepthMax) {
            error = "scopes are nested too deeply";
            return false;
        }
        if (!parse(reader, children.back().children, depth + 1, error)) return false;
        if (!count_holds(children.back())) {
            error = fmt::format("\"{}\" has another number of elements than it says", token.name);
            return false;
        }
    }
    error = reader.error();
    if (error.empty() && depth > 0) error = "it ends inside a scope";
    return error.empty();
}

bool is_text(std::span<const u8> bytes) {
    return bytes.size() <= kTextBytesMax &&
           std::all_of(bytes.begin(), bytes.end(), [](u8 byte) { return byte >= 0x20 && byte < 0x7f; });
}

std::string text_of(const Node& node) {
    switch (node.token.tag) {
        case StateTag::Word: return fmt::format("{:#x}", node.token.value);
        case StateTag::Bytes: {
            std::span<const u8> bytes = node.token.bytes;
            if (!is_text(bytes)) return fmt::format("{} bytes", bytes.size());
            return fmt::format("\"{}\"", std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
        }
        case StateTag::List:
        case StateTag::Map: return fmt::format("{} elements", node.token.value);
        case StateTag::Begin: return "present";
        case StateTag::End: break;
    }
    return {};
}

class Differ {
public:
    explicit Differ(std::size_t lines_max) : lines_max_(lines_max) {}

    void compare_children(const std::string& path, const Node& a, const Node& b) {
        if (a.token.tag == StateTag::List) return compare_lists(path, a, b);
        if (a.token.tag == StateTag::Map) return compare_maps(path, a, b);
        compare_scopes(path, a.children, b.children);
    }

    void compare_scopes(const std::string& path, const std::vector<Node>& a, const std::vector<Node>& b) {
        std::size_t next = 0;  // in b: what is before it has been matched or reported
        for (const Node& old_node : a) {
            std::size_t match = next;
            while (match < b.size() && b[match].token.name != old_node.token.name) ++match;
            std::string name = join(path, old_node.token.name);
            if (match == b.size()) {
                say(name, text_of(old_node), "absent");
                continue;
            }
            for (; next < match; ++next) say(join(path, b[next].token.name), "absent", text_of(b[next]));
            compare(name, old_node, b[next++]);
        }
        for (; next < b.size(); ++next) say(join(path, b[next].token.name), "absent", text_of(b[next]));
    }

    std::vector<std::string> take() {
        if (unsaid_ > 0) lines_.push_back(fmt::format("... and {} more", unsaid_));
        return std::move(lines_);
    }

private:
    static std::string join(const std::string& path, std::string_view name) {
        return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
    }

    void say(const std::string& path, std::string_view was, std::string_view is) {
        if (lines_.size() >= lines_max_) ++unsaid_;
        else lines_.push_back(fmt::format("{}: {} -> {}", path, was, is));
    }

    void compare(const std::string& path, const Node& a, const Node& b) {
        if (a.token.tag != b.token.tag) return say(path, text_of(a), text_of(b));
        // Elements carry no name; one that does is damage or another format.
        if (a.token.name != b.token.name) return say(path, a.token.name, b.token.name);
        if (a.token.tag == StateTag::Word) {
            if (a.token.value != b.token.value) say(path, text_of(a), text_of(b));
        } else if (a.token.tag == StateTag::Bytes) {
            compare_bytes(path, a, b);
        } else {
            compare_children(path, a, b);
        }
    }

    void compare_bytes(const std::string& path, const Node& a, const Node& b) {
        std::span<const u8> old_bytes = a.token.bytes;
        std::span<const u8> new_bytes = b.token.bytes;
        auto [p, q] = std::mismatch(old_bytes.begin(), old_bytes.end(), new_bytes.begin(), new_bytes.end());
        if (p == old_bytes.end() && q == new_bytes.end()) return;
        if (is_text(old_bytes) && is_text(new_bytes)) return say(path, text_of(a), text_of(b));
        std::string was = p == old_bytes.end() ? "absent" : fmt::format("{:#04x}", *p);
        std::string is = q == new_bytes.end() ? "absent" : fmt::format("{:#04x}", *q);
        say(fmt::format("{} byte {:#x}", path, p - old_bytes.begin()), was, is);
    }

    void compare_lists(const std::string& path, const Node& a, const Node& b) {
        for (std::size_t i = 0; i < std::max(a.children.size(), b.children.size()); ++i) {
            std::string element = fmt::format("{}[{}]", path, i);
            if (i >= b.children.size()) say(element, text_of(a.children[i]), "absent");
            else if (i >= a.children.size()) say(element, "absent", text_of(b.children[i]));
            else compare(element, a.children[i], b.children[i]);
        }
    }

    // By key. Keys that are neither words nor bytes are compared as what text_of() makes of them.
    void compare_maps(const std::string& path, const Node& a, const Node& b) {
        std::map<std::string, const Node*> in_b;
        for (std::size_t i = 0; i + 1 < b.children.size(); i += 2) in_b[key_of(b.children[i])] = &b.children[i + 1];
        for (std::size_t i = 0; i + 1 < a.children.size(); i += 2) {
            std::string element = fmt::format("{}[{}]", path, text_of(a.children[i]));
            auto it = in_b.find(key_of(a.children[i]));
            if (it == in_b.end()) {
                say(element, text_of(a.children[i + 1]), "absent");
                continue;
            }
            compare(element, a.children[i + 1], *it->second);
            in_b.erase(it);
        }
        for (std::size_t i = 0; i + 1 < b.children.size(); i += 2) {
            if (in_b.count(key_of(b.children[i])) == 0) continue;
            say(fmt::format("{}[{}]", path, text_of(b.children[i])), "absent", text_of(b.children[i + 1]));
        }
    }

    static std::string key_of(const Node& node) {
        std::string key = std::string(node.token.name) + '=';
        if (node.token.tag != StateTag::Bytes) return key + text_of(node);
        return key.append(node.token.bytes.begin(), node.token.bytes.end());
    }

    std::size_t lines_max_;
    std::size_t unsaid_ = 0;
    std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> diff_streams(std::span<const u8> old_stream, std::span<const u8> new_stream,
                                      std::size_t lines_max) {
    std::vector<Node> old_nodes;
    std::vector<Node> new_nodes;
    std::string error;
    StateReader old_reader(old_stream);
    if (!parse(old_reader, old_nodes, 0, error)) return {"old: " + error};
    StateReader new_reader(new_stream);
    if (!parse(new_reader, new_nodes, 0, error)) return {"new: " + error};
    Differ differ(lines_max);
    differ.compare_scopes("", old_nodes, new_nodes);
    return differ.take();
}

}  // namespace sim
