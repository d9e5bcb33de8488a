// The bytes of saved state: a self-describing stream, so that damage is found by field name and two saved states can be
// compared without the program that saved them. This file and state_stream.cpp are its only writer and reader.
//
//   item   := tag name payload
//   name   := varint id; an id equal to the number of names so far defines one: varint length, characters
//   Word   := varint value          Bytes := varint length, bytes
//   Begin  := item* End             List  := varint count, item{count} End
//   Map    := varint count, (item item){count} End          (End carries no name)
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/types.h"

namespace sim {

enum class StateTag : u8 { Word = 1, Bytes = 2, Begin = 3, List = 4, Map = 5, End = 6 };

class StateWriter {
public:
    void word(std::string_view name, u64 value) { put(StateTag::Word, name, value); }
    void bytes(std::string_view name, std::span<const u8> value);
    void begin(std::string_view name) { put_header(StateTag::Begin, name); }
    void list(std::string_view name, u64 count) { put(StateTag::List, name, count); }
    void map(std::string_view name, u64 count) { put(StateTag::Map, name, count); }
    void end() { out_.push_back(static_cast<u8>(StateTag::End)); }
    const std::vector<u8>& written() const { return out_; }

private:
    void put_varint(u64 value);
    void put_header(StateTag tag, std::string_view name);
    void put(StateTag tag, std::string_view name, u64 value);

    std::vector<u8> out_;
    std::map<std::string, u64, std::less<>> names_;
};

struct StateToken {
    StateTag tag = StateTag::End;
    std::string_view name;        // points into the stream
    u64 value = 0;                // of a word; count of a list or map
    std::span<const u8> bytes;    // points into the stream
};

// Reads untrusted bytes. The stream must outlive the reader and its tokens.
class StateReader {
public:
    explicit StateReader(std::span<const u8> stream) : stream_(stream) {}
    // False at the end of the stream and at damage; error() then says which ("" at the end).
    bool next(StateToken& token);
    std::size_t offset() const { return offset_; }
    std::size_t remaining() const { return stream_.size() - offset_; }
    const std::string& error() const { return error_; }

private:
    bool damaged(std::string_view what);
    bool get_varint(u64& value);
    bool get_run(u64 bytes, std::span<const u8>& run);
    bool get_name(std::string_view& name);

    std::span<const u8> stream_;
    std::size_t offset_ = 0;
    std::vector<std::string_view> names_;
    std::string error_;
};

// Differences between two streams as "path: old -> new" lines, in the order of the old one; at most `lines_max` and a
// last line that counts the rest. A damaged stream is itself a difference.
std::vector<std::string> diff_streams(std::span<const u8> old_stream, std::span<const u8> new_stream,
                                      std::size_t lines_max = 200);

}  // namespace sim
