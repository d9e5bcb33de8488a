// Texture and surface instructions against an H200 that ran the same PTX on the same texels, and HMMA.884 likewise.
#include <doctest/doctest.h>

#include <cstring>
#include <map>
#include <sstream>

#include "gpu_model/sm/exec/texture_header.h"
#include "gpu_model/sm/flat_launch.h"
#include "tests/support/packed_data.h"

namespace {

using namespace gpu;
using namespace gpu::sm;

constexpr u32 kWidth = 21, kHeight = 13, kDepth = 5, kPitch = 512;

// The texels that the recording used: a hash of their number.
u32 hashed(u32 i) {
    u32 x = i * 0x9e3779b9u + 0x7f4a7c15u;
    x ^= x >> 15;
    x *= 0x85ebca6bu;
    return x ^ x >> 13;
}

struct Kind {
    u32 bits = 0, channels = 0;
    char type = 'f';
    bool normalized_read = false;
    u32 bytes() const { return bits / 8 * channels; }
};

// One channel of texel i as its bits.
u32 channel_bits(const Kind& kind, u32 i, u32 channel) {
    const u32 h = hashed(i * kind.channels + channel);
    if (kind.type != 'f') return h;
    if (kind.bits == 32) {
        const float value = static_cast<float>(static_cast<int>(h & 0xfff) - 2048) / 16.0F;
        u32 bits = 0;
        std::memcpy(&bits, &value, sizeof(bits));
        return bits;
    }
    const u32 q = h & 1023;
    if (q == 0) return 0;
    const u32 exponent = 31 - static_cast<u32>(__builtin_clz(q));
    return (exponent + 15) << 10 | (q << (10 - exponent) & 0x3ff);
}

u32 components_of(const Kind& kind) {
    const std::map<std::pair<u32, u32>, u32> values = {{{32, 1}, 0x0f}, {{32, 4}, 0x01}, {{8, 4}, 0x08},
                                                       {{8, 2}, 0x18},  {{16, 1}, 0x1b}, {{16, 4}, 0x03},
                                                       {{32, 2}, 0x04}, {{8, 1}, 0x1d},  {{16, 2}, 0x0c}};
    return values.at({kind.bits, kind.channels});
}

void set(TextureEntry& entry, EntryField field, u32 value) {
    set_entry_field(entry, field.hi, field.lo, value);
}

TextureEntry header_of(const Kind& kind, HeaderVersion version, TextureType type, u64 va) {
    TextureEntry e{};
    set(e, texhead::COMPONENTS, components_of(kind));
    const auto data_type = kind.type == 'f'       ? TexelType::FLOAT
                           : kind.normalized_read ? (kind.type == 'u' ? TexelType::UNORM : TexelType::SNORM)
                                                  : (kind.type == 'u' ? TexelType::UINT : TexelType::SINT);
    const EntryField types[] = {texhead::R_DATA_TYPE, texhead::G_DATA_TYPE, texhead::B_DATA_TYPE, texhead::A_DATA_TYPE};
    const EntryField sources[] = {texhead::X_SOURCE, texhead::Y_SOURCE, texhead::Z_SOURCE, texhead::W_SOURCE};
    for (u32 i = 0; i < 4; ++i) {
        set(e, types[i], static_cast<u32>(data_type));
        set(e, sources[i], i < kind.channels ? static_cast<u32>(TexelSource::IN_R) + i : 0);
    }
    set(e, texhead::ADDRESS_BITS31TO0, static_cast<u32>(va));
    set(e, texhead::ADDRESS_BITS48TO32, static_cast<u32>(va >> 32));
    set(e, texhead::HEADER_VERSION, static_cast<u32>(version));
    set(e, texhead::TEXTURE_TYPE, static_cast<u32>(type));
    return e;
}

struct Layout {
    HeaderVersion version;
    TextureType type;
    u32 width = kWidth, height = kHeight, depth = 1;
};

// Where the case's texels lie, by the first words of its description.
Layout layout_of(const std::string& kernel, const std::string& place) {
    if (place == "linear") return {HeaderVersion::ONE_D_BUFFER, TextureType::ONE_D_BUFFER, kWidth * kHeight, 1, 1};
    if (place == "pitch512") return {HeaderVersion::PITCH, TextureType::TWO_D_NO_MIPMAP};
    if (kernel == "t_cube") return {HeaderVersion::BLOCKLINEAR, TextureType::CUBEMAP, 8, 8, 1};
    if (kernel == "t_1d" || kernel == "s_rd1") return {HeaderVersion::BLOCKLINEAR, TextureType::ONE_D, kWidth, 1, 1};
    if (kernel == "t_3d" || kernel == "s_rd3" || place == "array3")
        return {HeaderVersion::BLOCKLINEAR, TextureType::THREE_D, kWidth, kHeight, kDepth};
    if (kernel == "t_a2d" || kernel == "s_rda2")
        return {HeaderVersion::BLOCKLINEAR, TextureType::TWO_D_ARRAY, kWidth, kHeight, kDepth};
    return {HeaderVersion::BLOCKLINEAR, TextureType::TWO_D};
}

struct Golden {
    std::string kernel, description;
    std::vector<std::array<u32, 4>> coordinates, results;
    std::vector<u32> dump;  // of the surface afterwards
};

std::vector<Golden> read_cases(const std::string& text) {
    std::vector<Golden> cases;
    std::istringstream lines(text);
    bool dumping = false;
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string word;
        if (line.starts_with("CASE ")) {
            cases.emplace_back();
            words >> word >> cases.back().kernel;
            std::getline(words, cases.back().description);
            dumping = false;
        } else if (line.starts_with("DUMP ")) {
            dumping = true;
        } else if (dumping) {
            for (u32 value = 0; words >> std::hex >> value;) cases.back().dump.push_back(value);
        } else {
            std::array<u32, 4> in{}, out{};
            for (u32& value : in) words >> std::hex >> value;
            words >> word;
            for (u32& value : out) words >> std::hex >> value;
            cases.back().coordinates.push_back(in);
            cases.back().results.push_back(out);
        }
    }
    return cases;
}

// One recorded launch on the model.
class TextureCase {
public:
    TextureCase(const Golden& golden, const Cubin& cubin, CodeCache& code) : golden_(golden), flat_(cubin, code) {
        std::istringstream words(golden.description);
        std::string place, token;
        words >> place >> kind_.bits >> kind_.channels >> kind_.type;
        u32 wrap = 1;
        bool linear = false;
        while (words >> token) {
            if (token == "norm1") kind_.normalized_read = true;
            if (token == "nc1") normalized_ = true;
            if (token == "filt1") linear = true;
            if (token.starts_with("am")) wrap = static_cast<u32>(token[2] - '0');
        }
        const Layout layout = layout_of(golden.kernel, place);
        texels_ = flat_.add_buffer(1 << 20);
        make_header(layout);
        const auto headers = flat_.add_buffer(4096), samplers = flat_.add_buffer(4096);
        std::memcpy(headers.bytes.data() + kHeader * kTextureEntryBytes, header_.data(), kTextureEntryBytes);
        const TextureEntry sampler = make_sampler(wrap, linear);
        std::memcpy(samplers.bytes.data() + kSampler * kTextureEntryBytes, sampler.data(), kTextureEntryBytes);
        flat_.set_textures({headers.va, samplers.va, 100, 100});
        fill(layout);
    }

    // Results that differ, of 32 lanes; the surface's words that differ count, too.
    u32 run() {
        const auto out = flat_.add_buffer(512), in = flat_.add_buffer(512);
        std::memcpy(in.bytes.data(), golden_.coordinates.data(), 512);
        const u64 handle = kHeader | kSampler << 20;
        const std::vector<std::vector<u8>> parameters = {parameter_bytes(out.va), parameter_bytes(handle),
                                                         parameter_bytes(in.va)};
        const FlatLaunch::Outcome outcome = flat_.run(golden_.kernel, {{1, 1, 1}, {32, 1, 1}}, parameters, 10'000);
        INFO(golden_.kernel, golden_.description);
        CHECK(outcome.error == "");
        u32 wrong = 0;
        for (std::size_t lane = 0; lane < golden_.results.size(); ++lane)
            wrong += std::memcmp(out.bytes.data() + lane * 16, golden_.results[lane].data(), 16) != 0 ? 1u : 0u;
        for (std::size_t i = 0; i < golden_.dump.size(); ++i) {
            u32 word = 0;
            const u64 va = texture_.texel_va(static_cast<u32>(i % kWidth), static_cast<u32>(i / kWidth), 0);
            std::memcpy(&word, texels_.bytes.data() + (va - texels_.va), sizeof(word));
            // Of lanes that store to one texel any may win.
            wrong += word != golden_.dump[i] && stores_to(i) < 2 ? 1u : 0u;
        }
        return wrong;
    }

private:
    // Lanes that have this texel as their coordinates.
    u32 stores_to(std::size_t texel) const {
        u32 count = 0;
        for (const auto& lane : golden_.coordinates) {
            float x = 0, y = 0;
            std::memcpy(&x, &lane[0], sizeof(x));
            std::memcpy(&y, &lane[1], sizeof(y));
            count += x == static_cast<float>(texel % kWidth) && y == static_cast<float>(texel / kWidth) ? 1u : 0u;
        }
        return count;
    }

    static constexpr u64 kHeader = 37, kSampler = 5;

    void make_header(const Layout& layout) {
        header_ = header_of(kind_, layout.version, layout.type, texels_.va);
        if (layout.version == HeaderVersion::ONE_D_BUFFER) {
            set(header_, texhead::BUFFER_WIDTH_MINUS_ONE_BITS15TO0, layout.width - 1);
        } else {
            set(header_, texhead::WIDTH_MINUS_ONE, layout.width - 1);
            set(header_, texhead::HEIGHT_MINUS_ONE, layout.height - 1);
            set(header_, texhead::DEPTH_MINUS_ONE, layout.depth - 1);
            set(header_, texhead::NORMALIZED_COORDS, normalized_ ? 1 : 0);
        }
        if (layout.version == HeaderVersion::PITCH) set(header_, texhead::PITCH_BITS20TO5, kPitch / 32);
        if (layout.version == HeaderVersion::BLOCKLINEAR) {
            set(header_, texhead::GOBS_PER_BLOCK_HEIGHT, 1);
            set(header_, texhead::GOBS_PER_BLOCK_DEPTH, layout.type == TextureType::THREE_D ? 1 : 0);
        }
        REQUIRE(decode_texture(header_, texture_) == "");
    }

    TextureEntry make_sampler(u32 cuda_wrap, bool linear) const {
        constexpr TextureWrap wraps[] = {TextureWrap::WRAP, TextureWrap::CLAMP_TO_EDGE, TextureWrap::MIRROR,
                                         TextureWrap::BORDER};
        TextureEntry e{};
        set(e, texsamp::ADDRESS_U, static_cast<u32>(wraps[cuda_wrap]));
        set(e, texsamp::ADDRESS_V, static_cast<u32>(wraps[cuda_wrap]));
        set(e, texsamp::ADDRESS_P, static_cast<u32>(wraps[cuda_wrap]));
        set(e, texsamp::MAG_FILTER, linear ? 2 : 1);
        // CUDA's driver writes a border of integers as integers: 0.25 and the others become 0.
        const bool integers = kind_.type != 'f' && !kind_.normalized_read;
        if (integers) return e;
        const u32 quarter = 0x3e800000, half = 0x3f000000, three_quarters = 0x3f400000, one = 0x3f800000;
        set(e, texsamp::BORDER_COLOR_R, quarter);
        set(e, texsamp::BORDER_COLOR_G, half);
        set(e, texsamp::BORDER_COLOR_B, three_quarters);
        set(e, texsamp::BORDER_COLOR_A, one);
        return e;
    }

    void fill(const Layout& layout) {
        const u32 layers = layout.type == TextureType::CUBEMAP ? 6 : layout.depth;
        for (u32 i = 0; i < layout.width * layout.height * layers; ++i) {
            const u32 x = i % layout.width, y = i / layout.width % layout.height, z = i / layout.width / layout.height;
            u8* to = texels_.bytes.data() + (texture_.texel_va(x, y, z) - texels_.va);
            for (u32 channel = 0; channel < kind_.channels; ++channel) {
                const u32 bits = channel_bits(kind_, i, channel);
                std::memcpy(to + channel * kind_.bits / 8, &bits, kind_.bits / 8);
            }
        }
    }

    const Golden& golden_;
    FlatLaunch flat_;
    FlatLaunch::Buffer texels_;
    TextureEntry header_{};
    Texture texture_;
    Kind kind_;
    bool normalized_ = false;
};

Cubin recorded_cubin(const std::string& bytes) {
    const std::vector<u8> image(bytes.begin(), bytes.end());
    CubinResult result = read_cubin(image);
    REQUIRE(result.cubin);
    return std::move(*result.cubin);
}

}  // namespace

TEST_CASE("texture and surface instructions give what hardware gave") {
    const auto files = test_support::read_packed_files("tests/gpu_model/data/sass/texture_golden.zst");
    const Cubin cubin = recorded_cubin(files.at("kernels.cubin"));
    CodeCache code;
    u32 lanes = 0;
    // The surface kernels that write go on where the one before them ended, so they are checked by themselves below.
    for (const Golden& golden : read_cases(files.at("texture.txt"))) {
        if (!golden.dump.empty()) continue;
        const u32 wrong = TextureCase(golden, cubin, code).run();
        lanes += 32;
        INFO(golden.kernel, golden.description);
        CHECK(wrong == 0);
    }
    CHECK(lanes > 10'000);
}

TEST_CASE("stores to surfaces change the texels that hardware changed") {
    const auto files = test_support::read_packed_files("tests/gpu_model/data/sass/texture_golden.zst");
    const Cubin cubin = recorded_cubin(files.at("kernels.cubin"));
    CodeCache code;
    u32 stores = 0;
    for (const Golden& golden : read_cases(files.at("texture.txt"))) {
        // s_wr2 comes first on fresh texels.
        if (golden.kernel != "s_wr2") continue;
        ++stores;
        INFO(golden.description);
        CHECK(TextureCase(golden, cubin, code).run() == 0);
    }
    CHECK(stores == 3);
}

TEST_CASE("HMMA.884 multiplies as hardware does") {
    const auto files = test_support::read_packed_files("tests/gpu_model/data/sass/texture_golden.zst");
    const Cubin cubin = recorded_cubin(files.at("kernels.cubin"));
    CodeCache code;
    std::istringstream lines(files.at("mma.txt"));
    u32 kernels = 0;
    for (std::string line; std::getline(lines, line);) {
        REQUIRE(line.starts_with("MMA "));
        const std::string kernel = line.substr(4);
        FlatLaunch flat(cubin, code);
        const auto d = flat.add_buffer(1024), a = flat.add_buffer(256), b = flat.add_buffer(256),
                   c = flat.add_buffer(1024);
        std::vector<u32> want;
        for (u32 lane = 0; lane < 32; ++lane) {
            REQUIRE(std::getline(lines, line));
            std::istringstream words(line);
            std::string colon;
            const auto take = [&](const FlatLaunch::Buffer& to, u32 count) {
                for (u32 k = 0; k < count; ++k) {
                    u32 value = 0;
                    words >> std::hex >> value;
                    std::memcpy(to.bytes.data() + (lane * count + k) * 4, &value, sizeof(value));
                }
                words >> colon;
            };
            take(a, 2);
            take(b, 2);
            take(c, 8);
            for (u32 value = 0; words >> std::hex >> value;) want.push_back(value);
        }
        const std::vector<std::vector<u8>> parameters = {parameter_bytes(d.va), parameter_bytes(a.va),
                                                         parameter_bytes(b.va), parameter_bytes(c.va)};
        INFO(kernel);
        CHECK(flat.run(kernel, {{1, 1, 1}, {32, 1, 1}}, parameters, 10'000).error == "");
        CHECK(std::memcmp(d.bytes.data(), want.data(), 1024) == 0);
        ++kernels;
    }
    CHECK(kernels == 8);
}
