// The four visitors of component state: save, load, digest, diff.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/digest.h"
#include "sim/state_stream.h"
#include "sim/state_visitor.h"

namespace sim {

class SaveVisitor : public StateVisitor {
public:
    Mode mode() const override { return Mode::Save; }
    void u64_field(std::string_view name, u64& value) override { writer_.word(name, value); }
    void bytes_field(std::string_view name, std::vector<u8>& value) override { writer_.bytes(name, value); }
    void begin(std::string_view scope) override { writer_.begin(scope); }
    void end() override { writer_.end(); }
    u64 begin_list(std::string_view name, u64 count) override;
    void end_list() override { writer_.end(); }
    u64 begin_map(std::string_view name, u64 count) override;
    void end_map() override { writer_.end(); }
    const std::vector<u8>& saved() const { return writer_.written(); }

private:
    StateWriter writer_;
};

// Compares live state with a saved one: visit, then ask.
class DiffVisitor final : public SaveVisitor {
public:
    Mode mode() const override { return Mode::Diff; }
    // "path: old -> new", see diff_streams().
    std::vector<std::string> differences(std::span<const u8> old_saved) const {
        return diff_streams(old_saved, saved());
    }
};

// Loads untrusted bytes, which must outlive the visitor. The first thing wrong ends it: error() says which field and
// why.
class LoadVisitor final : public StateVisitor {
public:
    explicit LoadVisitor(std::span<const u8> saved) : reader_(saved) {}
    Mode mode() const override { return Mode::Load; }
    bool failed() const override { return !error_.empty(); }
    void fail(std::string_view name, std::string_view why) override;
    void u64_field(std::string_view name, u64& value) override;
    void bytes_field(std::string_view name, std::vector<u8>& value) override;
    void begin(std::string_view scope) override;
    void end() override;
    u64 begin_list(std::string_view name, u64 count) override;
    void end_list() override { end(); }
    u64 begin_map(std::string_view name, u64 count) override;
    void end_map() override { end(); }
    // To be called last: anything left over is an error too.
    void finish();
    // "gpu.ce0.regs[3]: out of range"; empty when all went well.
    const std::string& error() const { return error_; }

private:
    struct Scope {
        std::string name;
        bool indexed = false;  // a list or map: its items have numbers, not names
        u64 next_item = 0;
    };
    bool take(StateTag tag, std::string_view name, StateToken& token);
    void open(std::string_view name, bool indexed);
    std::string path(std::string_view name) const;

    StateReader reader_;
    std::vector<Scope> scopes_;
    std::string error_;
};

class DigestVisitor final : public StateVisitor {
public:
    Mode mode() const override { return Mode::Digest; }
    void u64_field(std::string_view, u64& value) override { builder_.add_u64(value); }
    void bytes_field(std::string_view name, std::vector<u8>& value) override;
    void begin(std::string_view) override {}
    void end() override {}
    u64 begin_list(std::string_view name, u64 count) override;
    void end_list() override {}
    u64 begin_map(std::string_view name, u64 count) override { return begin_list(name, count); }
    void end_map() override {}
    Digest128 digest() const { return builder_.finish(); }

private:
    DigestBuilder builder_;
};

}  // namespace sim
