// Three visitors over words without names: keep what is there, compare it with what was kept, load what differs. The
// state never leaves the process, so nothing is checked but that both sides agree.
#include "sim/undo.h"

#include <cstring>
#include <string>

#include "sim/check.h"
#include "sim/state_visitor.h"

namespace sim {
namespace {

constexpr std::size_t words_for(std::size_t bytes) {
    return (bytes + sizeof(u64) - 1) / sizeof(u64);
}

class InPlaceVisitor : public StateVisitor {
public:
    bool in_place() const override { return true; }
    void begin(std::string_view) override {}
    void end() override {}
    void end_list() override {}
    void end_map() override {}
    u64 begin_map(std::string_view name, u64 count) override { return begin_list(name, count); }
    u64 begin_list(std::string_view name, u64 count) override {
        u64_field(name, count);
        return count;
    }
    void bytes_field(std::string_view name, std::vector<u8>& value) override {
        u64 count = value.size();
        u64_field(name, count);
        if (loading()) value.resize(count);
        raw_field(value.data(), count);
    }
};

class KeepVisitor final : public InPlaceVisitor {
public:
    KeepVisitor(std::vector<u64>& words, std::vector<UndoPart>& parts, std::vector<SparseMemory*>& memories)
        : words_(words), parts_(parts), memories_(memories) {}
    Mode mode() const override { return Mode::Save; }
    void u64_field(std::string_view, u64& value) override { words_.push_back(value); }
    void raw_field(void* data, std::size_t bytes) override {
        const std::size_t at = words_.size();
        words_.resize(at + words_for(bytes));
        if (bytes != 0) std::memcpy(words_.data() + at, data, bytes);
    }
    void memory_field(SparseMemory& memory) override {
        memory.checkpoint();
        memories_.push_back(&memory);
    }
    bool begin_part(std::string_view) override {
        open_.push_back(parts_.size());
        parts_.push_back({words_.size(), 0, 0, false});
        return true;
    }
    void end_part() override {
        UndoPart& part = parts_[open_.back()];
        open_.pop_back();
        part.end = words_.size();
        part.next = parts_.size();
    }

private:
    std::vector<u64>& words_;
    std::vector<UndoPart>& parts_;
    std::vector<SparseMemory*>& memories_;
    std::vector<std::size_t> open_;
};

// Once a part's own words differ, the rest of them is not looked at: a list may have another length now. The next part
// begins at a known place again.
class CompareVisitor final : public InPlaceVisitor {
public:
    CompareVisitor(const std::vector<u64>& words, std::vector<UndoPart>& parts) : words_(words), parts_(parts) {}
    Mode mode() const override { return Mode::Save; }
    void u64_field(std::string_view, u64& value) override {
        if (differs_) return;
        differs_ = cursor_ == words_.size() || words_[cursor_] != value;
        ++cursor_;
    }
    void raw_field(void* data, std::size_t bytes) override {
        if (differs_) return;
        const std::size_t count = words_for(bytes);
        differs_ =
            count > words_.size() - cursor_ || (bytes != 0 && std::memcmp(words_.data() + cursor_, data, bytes) != 0);
        cursor_ += count;
    }
    bool begin_part(std::string_view) override {
        open_.push_back({number_, differs_});
        UndoPart& part = parts_[number_++];
        cursor_ = part.begin;
        differs_ = part.changed = false;
        return true;
    }
    void end_part() override {
        const auto [number, owner_differs] = open_.back();
        open_.pop_back();
        UndoPart& part = parts_[number];
        part.changed = part.changed || differs_ || cursor_ != part.end;
        if (part.changed && !open_.empty()) parts_[open_.back().number].changed = true;
        cursor_ = part.end;
        differs_ = owner_differs;
    }

private:
    struct Open {
        std::size_t number;
        bool owner_differs;
    };
    const std::vector<u64>& words_;
    std::vector<UndoPart>& parts_;
    std::vector<Open> open_;
    std::size_t number_ = 0;
    std::size_t cursor_ = 0;
    bool differs_ = false;
};

class PutBackVisitor final : public InPlaceVisitor {
public:
    PutBackVisitor(const std::vector<u64>& words, const std::vector<UndoPart>& parts) : words_(words), parts_(parts) {}
    Mode mode() const override { return Mode::Load; }
    bool failed() const override { return !error_.empty(); }
    void fail(std::string_view name, std::string_view why) override {
        if (error_.empty()) error_ = std::string(name) + ": " + std::string(why);
    }
    void u64_field(std::string_view, u64& value) override {
        if (cursor_ == words_.size()) return fail("state", "ends early");
        value = words_[cursor_++];
    }
    void raw_field(void* data, std::size_t bytes) override {
        const std::size_t count = words_for(bytes);
        if (count > words_.size() - cursor_) return fail("state", "ends early");
        if (bytes != 0) std::memcpy(data, words_.data() + cursor_, bytes);
        cursor_ += count;
    }
    bool begin_part(std::string_view) override {
        const std::size_t number = number_++;
        open_.push_back(number);
        cursor_ = parts_[number].begin;
        if (parts_[number].changed) ++loaded_;
        return parts_[number].changed;
    }
    void end_part() override {
        const UndoPart& part = parts_[open_.back()];
        open_.pop_back();
        number_ = part.next;
        cursor_ = part.end;
    }
    const std::string& error() const { return error_; }
    std::size_t loaded() const { return loaded_; }

private:
    const std::vector<u64>& words_;
    const std::vector<UndoPart>& parts_;
    std::vector<std::size_t> open_;
    std::size_t number_ = 0;
    std::size_t cursor_ = 0;
    std::size_t loaded_ = 0;
    std::string error_;
};

}  // namespace

Undo::Undo(StateList& components) : components_(components) {
    KeepVisitor visitor(words_, parts_, memories_);
    components.visit(visitor);
}

void Undo::restore() {
    for (SparseMemory* memory : memories_) memory->restore();
    CompareVisitor compare(words_, parts_);
    components_.visit(compare);
    PutBackVisitor put_back(words_, parts_);
    components_.visit(put_back);
    parts_loaded_ = put_back.loaded();
    SIM_CHECK(put_back.error().empty(), put_back.error());
}

}  // namespace sim
