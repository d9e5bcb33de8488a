// Levels of detail, offsets, gathers, seams of cubes, sRGB, weights, formatted stores and reductions on surfaces, against an
// H200 that ran the same PTX on the same texels; comparisons of depth by their definition.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <sstream>

#include "gpu_model/sm/exec/texture_cube.h"
#include "gpu_model/sm/exec/texture_sample.h"
#include "gpu_model/sm/flat_launch.h"
#include "gpu_model/sm/flat_memory.h"
#include "tests/support/packed_data.h"

namespace {

using namespace gpu;
using namespace gpu::sm;

constexpr u32 kInputWords = 12;

void put(TextureEntry& entry, EntryField field, u32 value) {
    set_entry_field(entry, field.hi, field.lo, value);
}
float real(u32 bits) {
    return std::bit_cast<float>(bits);
}

// One recorded launch: "CASE label kernel key=value...", lanes "inputs : outputs", and of surfaces their bytes afterwards.
struct Recording {
    std::string label, kernel, text;
    std::map<std::string, std::string> keys;
    std::vector<std::array<u32, kInputWords>> in;
    std::vector<std::array<u32, 4>> out;
    std::vector<u8> dump;

    u32 number(const char* key) const { return static_cast<u32>(std::stoul(keys.at(key))); }
    float fraction(const char* key) const { return real(static_cast<u32>(std::stoul(keys.at(key), nullptr, 16))); }
    bool is(std::string_view geometry) const { return keys.at("geom") == geometry; }
    u32 texel_bytes() const { return number("bits") / 8 * number("ch"); }
};

std::vector<Recording> read_recordings(const std::string& text) {
    std::vector<Recording> all;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string word;
        if (line.starts_with("CASE ")) {
            Recording& one = all.emplace_back();
            one.text = line;
            words >> word >> one.label >> one.kernel;
            while (words >> word) one.keys[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
        } else if (line.starts_with("DUMP ")) {
            for (std::size_t at = 5; at + 1 < line.size(); at += 2)
                all.back().dump.push_back(static_cast<u8>(std::stoul(line.substr(at, 2), nullptr, 16)));
        } else {
            std::array<u32, kInputWords> in{};
            std::array<u32, 4> out{};
            std::size_t k = 0;
            while (words >> word && word != ":") in.at(k++) = static_cast<u32>(std::stoul(word, nullptr, 16));
            for (k = 0; words >> word;) out.at(k++) = static_cast<u32>(std::stoul(word, nullptr, 16));
            all.back().in.push_back(in);
            all.back().out.push_back(out);
        }
    }
    return all;
}

u32 hashed(u32 i) {
    u32 x = i * 0x9e3779b9u + 0x7f4a7c15u;
    x ^= x >> 15;
    x *= 0x85ebca6bu;
    return x ^ x >> 13;
}

// The texture that a recording had, in the model's memory.
class RecordedTexture {
public:
    RecordedTexture(const Recording& recording, FlatLaunch& flat) : r_(recording), texels_(flat.add_buffer(1 << 21)) {
        make_header();
        const auto headers = flat.add_buffer(4096), samplers = flat.add_buffer(4096);
        std::memcpy(headers.bytes.data() + kHeader * kTextureEntryBytes, header_.data(), kTextureEntryBytes);
        const TextureEntry sampler = make_sampler();
        std::memcpy(samplers.bytes.data() + kSampler * kTextureEntryBytes, sampler.data(), kTextureEntryBytes);
        flat.set_textures({headers.va, samplers.va, 100, 100});
        for (u32 level = 0; level < texture_.levels; ++level) fill(level);
    }
    static constexpr u64 kHeader = 37, kSampler = 5;

    // Bytes of a surface that differ from the recording.
    u32 wrong_bytes() const {
        u32 wrong = 0;
        for_texels(0, [&](u32 i, const u8* texel) {
            for (u32 k = 0; k < r_.texel_bytes(); ++k) wrong += texel[k] != r_.dump.at(i * r_.texel_bytes() + k) ? 1u : 0u;
        });
        return wrong;
    }

private:
    static u32 format_of(u32 bits, u32 channels) {
        static const std::map<std::pair<u32, u32>, u32> values = {{{32, 1}, 0x0f}, {{32, 2}, 0x04}, {{32, 4}, 0x01},
                                                                  {{16, 1}, 0x1b}, {{16, 2}, 0x0c}, {{16, 4}, 0x03},
                                                                  {{8, 1}, 0x1d},  {{8, 2}, 0x18},  {{8, 4}, 0x08}};
        return values.at({bits, channels});
    }
    TexelType type() const {
        const bool normalized = r_.number("norm") != 0;
        switch (r_.keys.at("type")[0]) {
            case 'u':
                return normalized ? TexelType::UNORM : TexelType::UINT;
            case 's':
                return normalized ? TexelType::SNORM : TexelType::SINT;
            case 'U':
                return TexelType::UNORM;
            case 'S':
                return TexelType::SNORM;
            default:
                return TexelType::FLOAT;
        }
    }
    void make_header() {
        // CUDA's one-dimensional arrays are lines of two-dimensional ones to their instructions.
        static const std::map<std::string, TextureType> types = {
            {"1d", TextureType::TWO_D},          {"2d", TextureType::TWO_D},         {"3d", TextureType::THREE_D},
            {"a1d", TextureType::ONE_D_ARRAY},   {"a2d", TextureType::TWO_D_ARRAY},  {"cube", TextureType::CUBEMAP},
            {"acube", TextureType::CUBEMAP_ARRAY}};
        const u32 channels = r_.number("ch");
        put(header_, texhead::COMPONENTS, format_of(r_.number("bits"), channels));
        const EntryField data_types[] = {texhead::R_DATA_TYPE, texhead::G_DATA_TYPE, texhead::B_DATA_TYPE, texhead::A_DATA_TYPE};
        const EntryField sources[] = {texhead::X_SOURCE, texhead::Y_SOURCE, texhead::Z_SOURCE, texhead::W_SOURCE};
        for (u32 i = 0; i < 4; ++i) {
            put(header_, data_types[i], static_cast<u32>(type()));
            put(header_, sources[i], i < channels ? static_cast<u32>(TexelSource::IN_R) + i : 0);
        }
        put(header_, texhead::ADDRESS_BITS31TO0, static_cast<u32>(texels_.va));
        put(header_, texhead::ADDRESS_BITS48TO32, static_cast<u32>(texels_.va >> 32));
        put(header_, texhead::HEADER_VERSION, static_cast<u32>(HeaderVersion::BLOCKLINEAR));
        put(header_, texhead::TEXTURE_TYPE, static_cast<u32>(types.at(r_.keys.at("geom"))));
        const bool line = r_.is("1d") || r_.is("a1d");
        const u32 height = line ? 1 : r_.number("h"), levels = r_.number("levels");
        put(header_, texhead::WIDTH_MINUS_ONE, r_.number("w") - 1);
        put(header_, texhead::HEIGHT_MINUS_ONE, height - 1);
        put(header_, texhead::DEPTH_MINUS_ONE, r_.is("cube") ? 0 : r_.number("d") - 1);
        put(header_, texhead::NORMALIZED_COORDS, r_.number("nc"));
        put(header_, texhead::GOBS_PER_BLOCK_HEIGHT, height > 8 ? 1 : 0);
        put(header_, texhead::GOBS_PER_BLOCK_DEPTH, r_.is("3d") ? 1 : 0);
        put(header_, texhead::MAX_MIP_LEVEL, levels - 1);
        put(header_, texhead::RES_VIEW_MAX_MIP_LEVEL, levels - 1);
        put(header_, texhead::S_R_G_B_CONVERSION, r_.number("srgb"));
        REQUIRE(decode_texture(header_, texture_) == "");
    }
    TextureEntry make_sampler() const {
        constexpr TextureWrap wraps[] = {TextureWrap::WRAP, TextureWrap::CLAMP_TO_EDGE, TextureWrap::MIRROR, TextureWrap::BORDER};
        constexpr u32 point = 1, linear = 2, across_seams = 3;
        const u32 wrap = static_cast<u32>(wraps[r_.number("wrap")]), filter = r_.number("filt") != 0 ? linear : point;
        TextureEntry e{};
        for (EntryField field : {texsamp::ADDRESS_U, texsamp::ADDRESS_V, texsamp::ADDRESS_P}) put(e, field, wrap);
        put(e, texsamp::MAG_FILTER, filter);
        put(e, texsamp::MIN_FILTER, filter);
        put(e, texsamp::MIP_FILTER, static_cast<u32>(r_.number("mip") != 0 ? MipFilter::LINEAR : MipFilter::POINT));
        put(e, texsamp::CUBEMAP_INTERFACE_FILTERING, r_.number("seam") != 0 ? across_seams : 0);
        constexpr float one = 256;
        put(e, texsamp::MIP_LOD_BIAS, static_cast<u32>(static_cast<int>(r_.fraction("bias") * one)));
        put(e, texsamp::MIN_LOD_CLAMP, static_cast<u32>(r_.fraction("lo") * one));
        put(e, texsamp::MAX_LOD_CLAMP, static_cast<u32>(r_.fraction("hi") * one));
        // CUDA's driver writes a border of integers as integers: 0.25 and the others become 0.
        if (type() == TexelType::UINT || type() == TexelType::SINT) return e;
        std::array<u32, 4> border = {0x3e80'0000, 0x3f00'0000, 0x3f40'0000, 0x3f80'0000};
        if (r_.keys.contains("border")) border.fill(static_cast<u32>(std::stoul(r_.keys.at("border"), nullptr, 16)));
        const EntryField fields[] = {texsamp::BORDER_COLOR_R, texsamp::BORDER_COLOR_G, texsamp::BORDER_COLOR_B,
                                     texsamp::BORDER_COLOR_A};
        for (std::size_t i = 0; i < border.size(); ++i) put(e, fields[i], border[i]);
        return e;
    }

    template <typename F>
    void for_texels(u32 level, F f) const {
        const TextureLevel at = texture_.level(level);
        for (u32 i = 0; i < at.width * at.height * at.depth; ++i) {
            const u32 x = i % at.width, y = i / at.width % at.height, z = i / at.width / at.height;
            f(i, texels_.bytes.data() + (texture_.texel_va(at, x, y, z) - texels_.va));
        }
    }
    // As the recording program filled its textures.
    u32 bits_of(u32 level, u32 i, u32 channel) const {
        const std::string& fill = r_.keys.at("fill");
        const u32 bits = r_.number("bits"), one = 0x3f80'0000;
        if (fill == "zero") return 0;
        if (fill == "level") return std::bit_cast<u32>(static_cast<float>(level));
        if (fill.starts_with("hot")) {
            u32 at = i;
            for (u32 k = 0; k < level; ++k) {
                const TextureLevel before = texture_.level(k);
                at += before.width * before.height * before.depth;
            }
            return at == std::stoul(fill.substr(3)) ? one : 0;
        }
        if (fill.starts_with("pair")) {
            const u32 second = static_cast<u32>(std::stoul(fill.substr(4)));
            constexpr u32 complement = 1000;
            if ((i & 1) != 0) return second >= complement ? ~(i >> 1) : second;
            return bits == 8 ? i >> 1 : hashed(i);
        }
        const u32 h = hashed(i * r_.number("ch") + channel + level * 0x10000);
        if (r_.keys.at("type") != "f") return h;
        if (bits == 32) return std::bit_cast<u32>(static_cast<float>(static_cast<int>(h & 0xfff) - 2048) / 16.0F);
        const u32 q = h & 1023;
        if (q == 0) return 0;
        const u32 exponent = static_cast<u32>(std::bit_width(u64{q})) - 1;
        return (exponent + 15) << 10 | (q << (10 - exponent) & 0x3ff);
    }
    void fill(u32 level) {
        for_texels(level, [&](u32 i, u8* texel) {
            for (u32 channel = 0; channel < r_.number("ch"); ++channel) {
                const u32 bits = bits_of(level, i, channel);
                std::memcpy(texel + channel * r_.number("bits") / 8, &bits, r_.number("bits") / 8);
            }
        });
    }

    const Recording& r_;
    FlatLaunch::Buffer texels_;
    TextureEntry header_{};
    Texture texture_;
};

struct Played {
    std::vector<std::array<u32, 4>> out;
    u32 wrong_lanes = 0, wrong_bytes = 0;
};

Played play(const Recording& recording, const Cubin& cubin, CodeCache& code) {
    FlatLaunch flat(cubin, code);
    const RecordedTexture texture(recording, flat);
    const u32 lanes = static_cast<u32>(recording.in.size()), blocks = (lanes + 31) / 32;
    const auto out = flat.add_buffer(blocks * 512), in = flat.add_buffer(blocks * 32 * kInputWords * 4);
    std::memcpy(in.bytes.data(), recording.in.data(), lanes * sizeof(recording.in[0]));
    const u64 handle = RecordedTexture::kHeader | RecordedTexture::kSampler << 20;
    const std::vector<std::vector<u8>> parameters = {parameter_bytes(out.va), parameter_bytes(handle), parameter_bytes(in.va)};
    const FlatLaunch::Outcome outcome = flat.run(recording.kernel, {{blocks, 1, 1}, {32, 1, 1}}, parameters, 1'000'000);
    CHECK_MESSAGE(outcome.error == "", recording.text);
    Played played;
    played.out.resize(lanes);
    std::memcpy(played.out.data(), out.bytes.data(), lanes * sizeof(played.out[0]));
    for (u32 lane = 0; lane < lanes; ++lane) played.wrong_lanes += played.out[lane] != recording.out[lane] ? 1u : 0u;
    if (!recording.dump.empty()) played.wrong_bytes = texture.wrong_bytes();
    return played;
}

struct Recordings {
    Cubin cubin;
    std::vector<Recording> all;
};
const Recordings& recordings() {
    static const Recordings loaded = [] {
        const auto files = test_support::read_packed_files("tests/gpu_model/data/sass/texture_levels.zst");
        const std::string& bytes = files.at("kernels.cubin");
        CubinResult result = read_cubin(std::vector<u8>(bytes.begin(), bytes.end()));
        REQUIRE(result.cubin);
        return Recordings{std::move(*result.cubin), read_recordings(files.at("levels.txt"))};
    }();
    return loaded;
}

struct Tally {
    u32 lanes = 0, wrong = 0;
};
Tally play_label(std::string_view label, bool gradients) {
    CodeCache code;
    Tally tally;
    for (const Recording& recording : recordings().all) {
        if (recording.label != label || (recording.kernel.starts_with("g")) != gradients) continue;
        const Played played = play(recording, recordings().cubin, code);
        tally.lanes += static_cast<u32>(recording.in.size());
        tally.wrong += played.wrong_lanes;
        if (played.wrong_lanes != 0) MESSAGE(recording.text, ": ", played.wrong_lanes, " lanes");
    }
    return tally;
}

}  // namespace

TEST_CASE("samples of levels, arrays and cubes, gathers and fetches, with offsets, give what hardware gave") {
    const Tally exact = play_label("t", false);
    CHECK(exact.lanes > 5'000);
    // One position in some thousand is rounded to the other 256th.
    CHECK(exact.wrong * 1000 <= exact.lanes);
    // Levels from gradients are sometimes off by a 256th, which a filter between levels shows.
    const Tally gradients = play_label("t", true);
    CHECK(gradients.lanes > 400);
    CHECK(gradients.wrong * 25 <= gradients.lanes);
}

TEST_CASE("queries say what hardware says of every level and type") {
    const Tally tally = play_label("q", false);
    CHECK(tally.lanes > 100);
    CHECK(tally.wrong == 0);
}

TEST_CASE("levels of detail with bias and bounds are those of hardware") {
    const Tally tally = play_label("lod", false);
    CHECK(tally.lanes > 1'000);
    CHECK(tally.wrong == 0);
}

TEST_CASE("weights within and between levels, in three dimensions, across a cube's edges and of narrow texels are hardware's") {
    const Tally tally = play_label("w", false);
    CHECK(tally.lanes > 5'000);
    CHECK(tally.wrong == 0);
}

TEST_CASE("the level of gradients is hardware's, or next to it by two 256ths at most") {
    CodeCache code;
    u32 lanes = 0, equal = 0;
    for (const Recording& recording : recordings().all) {
        if (recording.label != "grad") continue;
        const Played played = play(recording, recordings().cubin, code);
        for (std::size_t i = 0; i < played.out.size(); ++i) {
            // The texture's levels hold their number.
            constexpr float one = 256, most = 2;
            const float difference = (real(played.out[i][0]) - real(recording.out[i][0])) * one;
            INFO(recording.text);
            CHECK(std::abs(difference) <= most);
            ++lanes;
            equal += difference == 0 ? 1u : 0u;
        }
    }
    MESSAGE("levels of gradients equal: ", equal, " of ", lanes);
    CHECK(lanes > 1'000);
    CHECK(equal * 100 >= lanes * 95);
}

TEST_CASE("formatted stores and reductions change a surface as hardware did") {
    CodeCache code;
    u32 cases = 0;
    for (const Recording& recording : recordings().all) {
        if (recording.label != "s") continue;
        const Played played = play(recording, recordings().cubin, code);
        INFO(recording.text);
        CHECK(played.wrong_bytes == 0);
        ++cases;
    }
    CHECK(cases >= 35);
}

TEST_CASE("a comparison of depth gives the weight of the texels that pass") {
    // Two texels of depth, 0.25 and 0.75, at equal weights.
    FlatMemory memory;
    constexpr u64 va = 0x10'0000;
    const std::span<u8> bytes = memory.add(va, 4096);
    const std::array<float, 2> depths = {0.25F, 0.75F};
    std::memcpy(bytes.data(), depths.data(), sizeof(depths));
    TextureEntry header{}, entry{};
    put(header, texhead::COMPONENTS, 0x0f);
    put(header, texhead::R_DATA_TYPE, static_cast<u32>(TexelType::FLOAT));
    put(header, texhead::X_SOURCE, static_cast<u32>(TexelSource::IN_R));
    put(header, texhead::ADDRESS_BITS31TO0, static_cast<u32>(va));
    put(header, texhead::HEADER_VERSION, static_cast<u32>(HeaderVersion::BLOCKLINEAR));
    put(header, texhead::TEXTURE_TYPE, static_cast<u32>(TextureType::TWO_D));
    put(header, texhead::WIDTH_MINUS_ONE, 1);
    put(entry, texsamp::ADDRESS_U, static_cast<u32>(TextureWrap::CLAMP_TO_EDGE));
    put(entry, texsamp::ADDRESS_V, static_cast<u32>(TextureWrap::CLAMP_TO_EDGE));
    put(entry, texsamp::MAG_FILTER, 2);
    put(entry, texsamp::DEPTH_COMPARE, 1);
    Texture texture;
    REQUIRE(decode_texture(header, texture) == "");
    struct Row {
        DepthCompare compare;
        float below, equal, above;  // results for references of 0, 0.25 and 0.5
    };
    for (const Row& row : {Row{DepthCompare::NEVER, 0, 0, 0}, Row{DepthCompare::LESS, 1, 0.5F, 0.5F}, Row{DepthCompare::EQUAL, 0, 0.5F, 0},
                           Row{DepthCompare::LEQUAL, 1, 1, 0.5F}, Row{DepthCompare::GREATER, 0, 0, 0.5F},
                           Row{DepthCompare::NOTEQUAL, 1, 0.5F, 1}, Row{DepthCompare::GEQUAL, 0, 0.5F, 0.5F},
                           Row{DepthCompare::ALWAYS, 1, 1, 1}}) {
        put(entry, texsamp::DEPTH_COMPARE_FUNC, static_cast<u32>(row.compare));
        Sampler sampler;
        REQUIRE(decode_sampler(entry, sampler) == "");
        TextureUnit unit(memory, texture);
        const auto result = [&](float reference) {
            TexturePoint point;
            point.dimensions = 2;
            point.at = {std::bit_cast<u32>(1.0F), std::bit_cast<u32>(0.5F), 0};
            point.reference = std::bit_cast<u32>(reference);
            const auto value = unit.sample(sampler, point, 0);
            REQUIRE(value);
            return real((*value)[0]);
        };
        INFO(static_cast<u32>(row.compare));
        CHECK(result(0.0F) == row.below);
        CHECK(result(0.25F) == row.equal);
        CHECK(result(0.5F) == row.above);
        // A gather compares each texel by itself.
        TexturePoint point;
        point.dimensions = 2;
        point.at = {std::bit_cast<u32>(1.0F), std::bit_cast<u32>(0.5F), 0};
        point.reference = std::bit_cast<u32>(0.5F);
        const auto four = unit.gather(sampler, point, 0);
        REQUIRE(four);
        CHECK(real((*four)[0]) + real((*four)[1]) == 2 * row.above);
    }
}

TEST_CASE("the texel beyond a cube's edge is the neighbour's, from every edge and back") {
    constexpr sim::i64 size = 4;
    for (u32 face = 0; face < kCubeFaces; ++face) {
        for (sim::i64 along = 0; along < size; ++along) {
            for (const CubeTexel& outside :
                 {CubeTexel{face, -1, along}, CubeTexel{face, size, along}, CubeTexel{face, along, -1}, CubeTexel{face, along, size}}) {
                const CubeTexel there = across_edge(outside, size);
                CHECK(there.face != face);
                CHECK(there.face / 2 != face / 2);
                CHECK((there.x >= 0 && there.x < size && there.y >= 0 && there.y < size));
                // It lies at an edge of its face, and one of its neighbours beyond is the texel that we came from.
                u32 back = 0;
                for (const auto& [dx, dy] : {std::pair{-1, 0}, std::pair{1, 0}, std::pair{0, -1}, std::pair{0, 1}}) {
                    const CubeTexel next{there.face, there.x + dx, there.y + dy};
                    const bool x_out = next.x < 0 || next.x >= size, y_out = next.y < 0 || next.y >= size;
                    if (x_out == y_out) continue;
                    const CubeTexel home = across_edge(next, size);
                    const sim::i64 x = std::clamp<sim::i64>(outside.x, 0, size - 1), y = std::clamp<sim::i64>(outside.y, 0, size - 1);
                    back += home.face == face && home.x == x && home.y == y ? 1u : 0u;
                }
                CHECK(back == 1);
            }
        }
    }
}

TEST_CASE("no header, sampler or coordinate does more than give a value or a fault") {
    FlatMemory memory;
    constexpr u64 va = 0x10'0000;
    memory.add(va, 1 << 16);
    sim::u64 state = 1;
    const auto draw = [&state] { return static_cast<u32>((state = state * 6364136223846793005u + 1442695040888963407u) >> 32); };
    // Numbers that decide something: ends of ranges, infinities, NaNs.
    const auto number = [&] {
        constexpr u32 special[] = {0, 0x8000'0000, 0x7f80'0000, 0xff80'0000, 0x7fc0'0000, 0x3f80'0000, 0x7f7f'ffff, 1};
        return draw() % 3 == 0 ? special[draw() % std::size(special)] : draw();
    };
    u32 decoded = 0, values = 0;
    for (u32 round = 0; round < 30'000; ++round) {
        TextureEntry header{}, entry{};
        for (u32& word : header) word = draw();
        for (u32& word : entry) word = draw();
        // Mostly entries that decode.
        if (round % 4 != 0) {
            put(header, texhead::COMPONENTS, std::array<u32, 4>{0x0f, 0x08, 0x03, 0x1d}[draw() % 4]);
            for (EntryField field : {texhead::R_DATA_TYPE, texhead::G_DATA_TYPE, texhead::B_DATA_TYPE, texhead::A_DATA_TYPE})
                put(header, field, draw() % 2 == 0 ? 2 : 4);
            put(header, texhead::HEADER_VERSION, 3);
            put(header, texhead::TEXTURE_TYPE, draw() % 9);
            for (EntryField field : {texhead::GOBS_PER_BLOCK_WIDTH, texhead::TILE_WIDTH_IN_GOBS, texhead::GOB3D,
                                     texhead::USE_HEADER_OPT_CONTROL, texhead::MULTI_SAMPLE_COUNT, texhead::S_R_G_B_CONVERSION,
                                     texhead::RES_VIEW_MIN_MIP_LEVEL})
                put(header, field, 0);
            put(header, texhead::GOBS_PER_BLOCK_HEIGHT, draw() % 6);
            put(header, texhead::GOBS_PER_BLOCK_DEPTH, draw() % 6);
            put(header, texhead::MAX_MIP_LEVEL, 15);
            put(header, texhead::ADDRESS_BITS31TO0, static_cast<u32>(va));
            put(header, texhead::ADDRESS_BITS48TO32, 0);
            if (draw() % 2 == 0) {
                put(header, texhead::WIDTH_MINUS_ONE, draw() % 8);
                put(header, texhead::HEIGHT_MINUS_ONE, draw() % 8);
                put(header, texhead::HEIGHT_MINUS_ONE_BIT16, 0);
            }
            put(entry, texsamp::MAG_FILTER, 1 + draw() % 2);
            put(entry, texsamp::REDUCTION_FILTER, 0);
        }
        Texture texture;
        Sampler sampler;
        if (decode_texture(header, texture) != "" || decode_sampler(entry, sampler) != "") continue;
        ++decoded;
        if (texture.is_cube() && texture.width != texture.height) continue;  // refused by the instruction
        TextureUnit unit(memory, texture);
        TexturePoint point;
        point.dimensions = texture.is_cube() ? 3 : 1 + draw() % 3;
        for (u32& at : point.at) at = number();
        point.layer = draw() & 0xffff;
        for (sim::i32& offset : point.offset) offset = static_cast<sim::i32>(draw() % 64) - 32;
        if (draw() % 2 == 0) point.reference = number();
        TextureGradient gradient;
        for (std::size_t i = 0; i < 3; ++i) {
            gradient.dx[i] = static_cast<double>(real(number()));
            gradient.dy[i] = static_cast<double>(real(number()));
        }
        const bool may_filter = TextureUnit::is_filterable(texture) || (!sampler.linear && !sampler.min_linear);
        if (may_filter) values += unit.sample(sampler, point, gradient_lod(gradient)).has_value() ? 1u : 0u;
        if (may_filter) values += unit.sample(sampler, point, explicit_lod(number())).has_value() ? 1u : 0u;
        values += unit.gather(sampler, point, draw() % 4).has_value() ? 1u : 0u;
        if (!texture.is_cube()) values += unit.fetch(point, static_cast<sim::i32>(draw()) % 20, draw() % 2 == 0).has_value() ? 1u : 0u;
    }
    CHECK(decoded > 4'000);
    CHECK(values > 4'000);
}
