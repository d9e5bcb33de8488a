// Damage on purpose.
#include "guest_harness/trace/damage.h"

#include <zstd.h>

#include <vector>

#include "guest_harness/trace/block_codec.h"
#include "guest_harness/trace/container.h"
#include "guest_harness/trace/frame.h"
#include "sim/rng.h"

namespace harness::trace {

namespace {

struct RawFrame {
    u32 kind = 0;
    std::string raw;
};

std::vector<RawFrame> split(const std::string& trace) {
    std::vector<RawFrame> out;
    for (std::size_t at = kMagic.size(); at < trace.size();) {
        FrameHeader header = parse_frame_header(trace.data() + at);
        at += FrameHeader::kBytes;
        RawFrame frame{header.kind, std::string(header.raw_bytes, '\0')};
        if (header.kind == kHead) {
            frame.raw = trace.substr(at, header.stored_bytes);
        } else {
            std::size_t got = ZSTD_decompress(frame.raw.data(), frame.raw.size(), trace.data() + at, header.stored_bytes);
            SIM_CHECK(got == header.raw_bytes, got, header.raw_bytes);
        }
        at += header.stored_bytes;
        out.push_back(std::move(frame));
    }
    return out;
}

void damage_bytes(std::string& bytes, sim::RandomStream& random) {
    static constexpr u64 kLargestPiece = 64;
    for (u64 n = 1 + random.below(4); n > 0 && !bytes.empty(); --n) {
        u64 at = random.below(bytes.size());
        u64 piece = std::min<u64>(1 + random.below(kLargestPiece), bytes.size() - at);
        switch (random.below(6)) {
            case 0: bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8))); break;
            case 1: bytes[at] = static_cast<char>(random.next()); break;
            case 2: bytes[at] = random.chance(1, 2) ? '\xff' : '\x7f'; break;
            case 3: bytes.erase(at, piece); break;
            case 4: bytes.insert(at, bytes.substr(random.below(bytes.size()), piece)); break;
            default: bytes.resize(at); break;
        }
    }
}

// Fits the chains and the closing record to the events as they now are, as far as they can be read.
void reseal_chain(std::vector<RawFrame>& frames) {
    std::vector<std::string> blobs;
    sim::Digest128 chain;
    u64 events = 0;
    for (RawFrame& frame : frames) {
        if (frame.kind == kHead) {
            pb::Header header;
            if (header.ParseFromString(frame.raw)) chain = chain_start(header_from_proto(header));
        } else if (frame.kind == kBlob) {
            u64 count = frame.raw.size() < 4 ? 0 : load_u32(frame.raw.data());
            u64 at = 4 + count * 4;
            for (u64 i = 0; i < count && 8 + i * 4 <= frame.raw.size() && at <= frame.raw.size(); ++i) {
                u64 bytes = load_u32(frame.raw.data() + 4 + i * 4);
                blobs.push_back(frame.raw.substr(at, bytes));
                at += bytes;
            }
        } else if (frame.kind == kEvnt) {
            BlockDecoder decoder([&blobs](u32 number) { return number <= blobs.size() ? &blobs[number - 1] : nullptr; });
            if (decoder.open(frame.raw)) continue;
            Event event;
            while (!decoder.at_end() && !decoder.next(event)) {
                chain = chain_next(chain, event);
                ++events;
            }
            pb::EventBlock block;
            if (!block.ParseFromString(frame.raw)) continue;
            block.mutable_chain()->set_low(chain.low);
            block.mutable_chain()->set_high(chain.high);
            frame.raw = block.SerializeAsString();
        } else if (frame.kind == kClos) {
            pb::Closing closing;
            if (!closing.ParseFromString(frame.raw)) continue;
            closing.set_events(events);
            closing.mutable_chain()->set_low(chain.low);
            closing.mutable_chain()->set_high(chain.high);
            frame.raw = closing.SerializeAsString();
        }
    }
}

u64 odd_value(sim::RandomStream& random, u64 old) {
    switch (random.below(6)) {
        case 0: return ~u64{0};
        case 1: return 0;
        case 2: return old + random.below(0x1000);
        case 3: return old ^ (u64{1} << random.below(64));
        case 4: return u64{1} << random.below(64);
        default: return random.next();
    }
}

// Changes one value that the player or a decoder uses.
void damage_event(Event& event, sim::RandomStream& random) {
    if (auto* call = std::get_if<CallRecord>(&event)) {
        switch (random.below(9)) {
            case 0: call->kind = static_cast<CallRecord::Kind>(random.below(7)); return;
            case 1: call->request = odd_value(random, call->request); return;
            case 2: call->argument = odd_value(random, call->argument); return;
            case 3: call->length = odd_value(random, call->length); return;
            case 4: call->offset = odd_value(random, call->offset); return;
            case 5: call->fd = static_cast<int>(odd_value(random, static_cast<u64>(call->fd))); return;
            case 6: call->result = static_cast<i64>(odd_value(random, static_cast<u64>(call->result))); return;
            default: break;
        }
        if (call->accesses.empty()) return;
        UserAccess& access = call->accesses[random.below(call->accesses.size())];
        if (access.data.empty() || random.chance(1, 8)) access.address = odd_value(random, access.address);
        else access.data[random.below(access.data.size())] = static_cast<u8>(random.next());
    } else if (auto* batch = std::get_if<StoreBatch>(&event)) {
        if (batch->stores.empty()) return;
        StoreBatch::Store& store = batch->stores[random.below(batch->stores.size())];
        if (store.data.empty() || random.chance(1, 3)) store.address = odd_value(random, store.address);
        else store.data[random.below(store.data.size())] = static_cast<u8>(random.next());
    } else if (auto* access = std::get_if<MmioRecord>(&event)) {
        if (random.chance(1, 2)) access->address = odd_value(random, access->address);
        else access->value = odd_value(random, access->value);
    } else if (auto* poll = std::get_if<PollRecord>(&event)) {
        if (random.chance(1, 2)) poll->address = odd_value(random, poll->address);
        else poll->new_value = odd_value(random, poll->new_value);
    } else if (auto* submit = std::get_if<Submit>(&event)) {
        if (!submit->words.empty()) submit->words[random.below(submit->words.size())] = static_cast<u32>(random.next());
    }
}

}  // namespace

std::string damaged_copy(const std::string& trace, u64 seed, bool reseal) {
    sim::RandomStream random(seed, "trace.damage", reseal ? "reseal" : "raw");
    if (!reseal) {
        std::string out = trace;
        damage_bytes(out, random);
        return out;
    }
    if (random.chance(1, 2)) {
        Reader reader("undamaged", trace);
        Trace values = read_all(reader);
        if (!values.events.empty())
            for (u64 n = 1 + random.below(3); n > 0; --n) damage_event(values.events[random.below(values.events.size())], random);
        return encode(values);
    }
    std::vector<RawFrame> frames = split(trace);
    damage_bytes(frames[random.below(frames.size())].raw, random);
    reseal_chain(frames);
    std::string out(kMagic);
    for (const RawFrame& frame : frames) out += make_frame(frame.kind, frame.raw);
    return out;
}

}  // namespace harness::trace
