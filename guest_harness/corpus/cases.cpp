// Reading cases.json and golden.bin. Their rules: the corpus's own README and generator.
#include "guest_harness/corpus/cases.h"

#include <optional>
#include <fmt/format.h>

#include <bit>
#include <nlohmann/json.hpp>

#include "gpu_model/sm/exec/soft_float.h"
#include "guest_harness/json_input.h"
#include "guest_harness/trace/hex.h"
#include "sim/check.h"

namespace harness::corpus {
namespace {

using nlohmann::json;

// splitmix64.
class Mix {
public:
    explicit Mix(u64 seed) : state_(seed) {}
    u64 next() {
        state_ += 0x9e37'79b9'7f4a'7c15;
        u64 z = state_;
        z = (z ^ z >> 30) * 0xbf58'476d'1ce4'e5b9;
        z = (z ^ z >> 27) * 0x94d0'49bb'1331'11eb;
        return z ^ z >> 31;
    }

private:
    u64 state_;
};

class Filler {
public:
    explicit Filler(std::size_t bytes) : limit_(bytes) {}
    bool full() const { return out_.size() >= limit_; }
    void put(u64 value, std::size_t bytes) {
        for (std::size_t i = 0; i < bytes; ++i) out_.push_back(static_cast<u8>(value >> (8 * i)));
    }
    std::vector<u8> take() {
        out_.resize(limit_);
        return std::move(out_);
    }

private:
    std::size_t limit_;
    std::vector<u8> out_;
};

u64 half_of(double value) {
    using namespace gpu::sm::soft;
    return convert(kF64, kF16, std::bit_cast<u64>(value), Round::Nearest);
}

void fill_stream(const Fill& fill, Filler& out) {
    Mix mix(fill.seed);
    const auto high = [&] { return mix.next() >> 32; };
    constexpr double two24 = 16777216.0, two53 = 9007199254740992.0;
    if (fill.rule == "splitmix64") {
        while (!out.full()) out.put(mix.next(), 8);
    } else if (fill.rule == "u32mod") {
        while (!out.full()) out.put(high() % fill.modulus + fill.addend, 4);
    } else if (fill.rule == "u8mod") {
        while (!out.full()) out.put(high() % fill.modulus + fill.addend, 1);
    } else if (fill.rule == "f32range") {
        while (!out.full()) {
            const double v = fill.low + (fill.high - fill.low) * (static_cast<double>(mix.next() >> 40) / two24);
            out.put(std::bit_cast<u32>(static_cast<float>(v)), 4);
        }
    } else if (fill.rule == "f64range") {
        while (!out.full()) {
            const double v = fill.low + (fill.high - fill.low) * (static_cast<double>(mix.next() >> 11) / two53);
            out.put(std::bit_cast<u64>(v), 8);
        }
    } else if (fill.rule == "f16q") {
        const u64 count = static_cast<u64>(2 * fill.range + 1);
        while (!out.full()) {
            const i64 steps = static_cast<i64>(high() % count) - fill.range;
            out.put(half_of(static_cast<double>(steps) / fill.divisor), 2);
        }
    } else {
        throw sim::HostError(fmt::format("cases.json: no fill rule '{}'", fill.rule));
    }
}

std::vector<u8> parse_hex(const std::string& text) {
    std::optional<std::vector<u8>> bytes = trace::from_hex(text);
    if (!bytes) throw sim::HostError("cases.json: \"" + trace::printable(text.substr(0, 32)) + "\" is not hex digits in pairs");
    return *bytes;
}

// At most 16 hex digits, and nothing else.
u64 parse_word(const std::string& text) {
    const bool hex = text.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
    if (!hex || text.empty() || text.size() > 16)
        throw sim::HostError("cases.json: \"" + trace::printable(text.substr(0, 32)) + "\" is not a word in hex digits");
    return std::stoull(text, nullptr, 16);
}

u32 parse_u32(const json& value) {
    if (!value.is_number_unsigned() || value.get<u64>() > ~u32{0})
        throw sim::HostError("cases.json: " + shown_json(value) + " is not a whole number of 32 bits");
    return value.get<u32>();
}

std::array<u32, 3> parse_size(const json& value) {
    if (!value.is_array() || value.size() != 3) throw sim::HostError("cases.json: a size that is not three numbers");
    return {parse_u32(value[0]), parse_u32(value[1]), parse_u32(value[2])};
}

Fill parse_fill(const json& object) {
    Fill fill;
    fill.rule = object.at("rule").get<std::string>();
    fill.seed = object.value("seed", u64{0});
    fill.value = object.value("value", u64{0});
    fill.modulus = object.value("mod", u64{1});
    fill.addend = object.value("add", u64{0});
    fill.low = object.value("lo", 0.0);
    fill.high = object.value("hi", 0.0);
    fill.range = object.value("range", i64{0});
    fill.divisor = object.value("div", 1.0);
    fill.base = object.value("base", u64{0});
    fill.step = object.value("step", u64{0});
    if (object.contains("cycle")) fill.cycle = object.at("cycle").get<int>() != 0;
    if (object.contains("data")) fill.data = parse_hex(object.at("data").get<std::string>());
    if (object.contains("values")) {
        for (const json& value : object.at("values"))
            fill.values.push_back(parse_word(value.get<std::string>()));
    }
    constexpr i64 kRangeMax = i64{1} << 31;
    if (fill.range < 0 || fill.range > kRangeMax)
        throw sim::HostError(fmt::format("cases.json: \"range\" is {}, must be 0 to {}", fill.range, kRangeMax));
    const bool empty_list = fill.rule.starts_with("list") && fill.values.empty();
    if (fill.modulus == 0 || empty_list || (fill.rule == "hex" && fill.data.empty()))
        throw sim::HostError(fmt::format("cases.json: fill rule '{}' lacks its values", fill.rule));
    return fill;
}

Case parse_case(const json& object) {
    constexpr u64 buffer_bytes_max = u64{256} << 20;
    constexpr u64 case_bytes_max = u64{1} << 30;
    u64 case_bytes = 0;
    Case out;
    out.id = object.at("id").get<std::string>();
    out.module = object.at("module").get<std::string>();
    out.kernel = object.at("kernel").get<std::string>();
    out.grid = parse_size(object.at("grid"));
    out.block = parse_size(object.at("block"));
    out.shared = parse_u32(object.at("shared"));
    for (const json& buffer : object.at("buffers")) {
        out.buffers.push_back(
            {buffer.at("name").get<std::string>(), buffer.at("bytes").get<u64>(), parse_fill(buffer.at("fill"))});
        case_bytes += std::min(out.buffers.back().bytes, case_bytes_max);
        if (out.buffers.back().bytes > buffer_bytes_max || case_bytes > case_bytes_max)
            throw sim::HostError(
                fmt::format("cases.json: buffer {} of case {} is too large", out.buffers.back().name, out.id));
    }
    for (const json& parameter : object.at("params")) {
        Parameter p;
        if (parameter.at("kind").get<std::string>() == "ptr") {
            p.buffer = parameter.at("buffer").get<std::string>();
            p.offset = parameter.value("offset", u64{0});
        } else {
            p.value = parse_hex(parameter.at("hex").get<std::string>());
        }
        out.parameters.push_back(std::move(p));
    }
    out.compare = object.at("compare").get<std::vector<std::string>>();
    out.fp = object.value("fp", false);
    out.approx = object.value("approx", false);
    out.arch_dependent = object.value("arch_dependent", false);
    return out;
}

std::vector<std::string> words_of(std::string_view line) {
    std::vector<std::string> words;
    while (!line.empty()) {
        const std::size_t end = std::min(line.find(' '), line.size());
        if (end != 0) words.emplace_back(line.substr(0, end));
        line.remove_prefix(std::min(end + 1, line.size()));
    }
    return words;
}

}  // namespace

std::vector<u8> fill_bytes(const Fill& fill, std::size_t bytes) {
    Filler out(bytes);
    if (fill.rule == "zero") return out.take();
    if (fill.rule == "byte") {
        while (!out.full()) out.put(fill.value, 1);
    } else if (fill.rule == "hex") {
        for (std::size_t i = 0; !out.full(); ++i) out.put(fill.data[i % fill.data.size()], 1);
    } else if (fill.rule == "iota32") {
        for (u64 i = 0; !out.full(); ++i) out.put(fill.base + i * fill.step, 4);
    } else if (fill.rule == "list32" || fill.rule == "list64") {
        const std::size_t size = fill.rule == "list32" ? 4 : 8;
        Mix mix(fill.seed);
        for (std::size_t i = 0; !out.full(); ++i) {
            if (fill.cycle || i < fill.values.size()) {
                out.put(fill.values[i % fill.values.size()], size);
            } else {
                out.put(size == 4 ? mix.next() >> 32 : mix.next(), size);
            }
        }
    } else {
        fill_stream(fill, out);
    }
    return out.take();
}

Corpus parse_cases(std::string_view text) {
    Corpus corpus;
    try {
        const json root = parse_json(text, "cases.json");
        for (const auto& item : root.at("variants").items()) corpus.variants.push_back(item.key());
        std::stable_sort(corpus.variants.begin(), corpus.variants.end(),
                         [](const std::string& a, const std::string& b) { return a == "O3" && b != "O3"; });
        for (const json& object : root.at("cases")) corpus.cases.push_back(parse_case(object));
    } catch (const json::exception& error) {
        throw sim::HostError(fmt::format("cases.json: {}", json_mistake(error)));
    } catch (const std::logic_error&) {
        throw sim::HostError("cases.json: a number in hexadecimal is damaged");
    }
    return corpus;
}

Golden::Golden(std::string_view bytes) {
    std::size_t at = 0;
    while (at < bytes.size()) {
        const std::size_t end = bytes.find('\n', at);
        const auto damaged = [&] { return sim::HostError(fmt::format("golden results are damaged at offset {}", at)); };
        if (end == std::string_view::npos) throw damaged();
        const std::vector<std::string> words = words_of(bytes.substr(at, end - at));
        std::size_t next = end + 1;
        // OUT variant case buffer bytes sha256 raw|same
        if (words.size() == 7 && words[0] == "OUT") {
            const std::string key = words[1] + " " + words[2] + " " + words[3];
            if (words[6] == "raw") {
                const std::size_t size = static_cast<std::size_t>(std::strtoull(words[4].c_str(), nullptr, 10));
                if (size > bytes.size() - next) throw damaged();
                buffers_[key] = std::string(bytes.substr(next, size));
                next += size + 1;
            } else {
                const auto base = buffers_.find("O3 " + words[2] + " " + words[3]);
                if (base == buffers_.end()) throw damaged();
                buffers_[key] = base->second;
            }
            ran_[words[1] + " " + words[2]] = true;
        } else if (words.size() == 3 && words[0] == "RAN") {
            ran_[words[1] + " " + words[2]] = true;
        } else if (words.size() == 3 && words[0] == "NONDET") {
            unstable_[words[1] + " " + words[2]] = true;
        }
        at = next;
    }
    if (buffers_.empty()) throw sim::HostError("golden results hold no buffer");
}

const std::string* Golden::find(const std::string& variant, const std::string& case_id,
                                const std::string& buffer) const {
    const auto it = buffers_.find(variant + " " + case_id + " " + buffer);
    return it == buffers_.end() ? nullptr : &it->second;
}

}  // namespace harness::corpus
