// Writer and reader of state streams.
#include "sim/state_stream.h"

#include <fmt/format.h>

namespace sim {
namespace {

constexpr u64 kNameBytesMax = 255;

}  // namespace

void StateWriter::put_varint(u64 value) {
    while (value > 0x7f) {
        out_.push_back(static_cast<u8>(value | 0x80));
        value >>= 7;
    }
    out_.push_back(static_cast<u8>(value));
}

void StateWriter::put_header(StateTag tag, std::string_view name) {
    out_.push_back(static_cast<u8>(tag));
    name = name.substr(0, kNameBytesMax);
    auto it = names_.find(name);
    if (it != names_.end()) return put_varint(it->second);
    u64 id = names_.size();
    names_.emplace(std::string(name), id);
    put_varint(id);
    put_varint(name.size());
    out_.insert(out_.end(), name.begin(), name.end());
}

void StateWriter::put(StateTag tag, std::string_view name, u64 value) {
    put_header(tag, name);
    put_varint(value);
}

void StateWriter::bytes(std::string_view name, std::span<const u8> value) {
    put(StateTag::Bytes, name, value.size());
    out_.insert(out_.end(), value.begin(), value.end());
}

bool StateReader::damaged(std::string_view what) {
    error_ = fmt::format("damaged state at offset {}: {}", offset_, what);
    return false;
}

bool StateReader::get_varint(u64& value) {
    value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (offset_ == stream_.size()) return damaged("it ends inside a number");
        u8 byte = stream_[offset_++];
        u64 bits = byte & 0x7fu;
        if (shift == 63 && bits > 1) return damaged("a number has more than 64 bits");
        value |= bits << shift;
        if ((byte & 0x80u) == 0) return true;
    }
    return damaged("a number has more than 64 bits");
}

bool StateReader::get_run(u64 bytes, std::span<const u8>& run) {
    if (bytes > remaining()) return damaged("a length reaches past the end");
    run = stream_.subspan(offset_, bytes);
    offset_ += bytes;
    return true;
}

bool StateReader::get_name(std::string_view& name) {
    u64 id = 0;
    if (!get_varint(id)) return false;
    if (id > names_.size()) return damaged("a name is used before it is defined");
    if (id == names_.size()) {
        u64 length = 0;
        std::span<const u8> run;
        if (!get_varint(length)) return false;
        if (length > kNameBytesMax) return damaged("a name is too long");
        if (!get_run(length, run)) return false;
        names_.emplace_back(reinterpret_cast<const char*>(run.data()), run.size());
    }
    name = names_[id];
    return true;
}

bool StateReader::next(StateToken& token) {
    token = StateToken{};
    if (!error_.empty() || offset_ == stream_.size()) return false;
    u8 tag = stream_[offset_];
    if (tag < static_cast<u8>(StateTag::Word) || tag > static_cast<u8>(StateTag::End)) return damaged("an unknown tag");
    ++offset_;
    token.tag = static_cast<StateTag>(tag);
    if (token.tag == StateTag::End) return true;
    if (!get_name(token.name)) return false;
    if (token.tag == StateTag::Begin) return true;
    if (!get_varint(token.value)) return false;
    if (token.tag == StateTag::Bytes) return get_run(token.value, token.bytes);
    return true;
}

}  // namespace sim
