// One function per component serves save, load, digest and diff.
//   void Ptimer::visit(sim::StateVisitor& v) { v.field("alarm", alarm_); v.field("intr_en", intr_en_); }
// The visitors themselves are in state_visitors.h.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/types.h"

namespace sim {

class SparseMemory;

class StateVisitor {
public:
    enum class Mode : u8 { Save, Load, Digest, Diff };
    virtual ~StateVisitor() = default;
    virtual Mode mode() const = 0;
    bool loading() const { return mode() == Mode::Load; }

    // Load never trusts its input. After the first failure the visitor leaves every further field as it is and
    // answers no elements, so a component checks failed() only where it would act on what it read. What was loaded is
    // then worthless.
    virtual bool failed() const { return false; }
    // A component's own check of what it loaded: `name` is the field, `why` one phrase. Ignored unless loading.
    virtual void fail(std::string_view name, std::string_view why);

    // Every form is built from these. A list has `count` elements, each one field of any form; a map has `count`
    // pairs of fields, key then value, keys in ascending order. Both return the count to go through, which on load
    // comes from the input and is bounded by what is left of it.
    virtual void u64_field(std::string_view name, u64& value) = 0;
    virtual void bytes_field(std::string_view name, std::vector<u8>& value) = 0;
    virtual void begin(std::string_view scope) = 0;
    virtual void end() = 0;
    virtual u64 begin_list(std::string_view name, u64 count) = 0;
    virtual void end_list() = 0;
    virtual u64 begin_map(std::string_view name, u64 count) = 0;
    virtual void end_map() = 0;

    // A part is a component that lives as long as its owner and whose visit touches nothing but its own state and that
    // of parts named before it. False: nothing in it has changed, so it need not be visited.
    virtual bool begin_part(std::string_view name) {
        begin(name);
        return true;
    }
    virtual void end_part() { end(); }
    template <typename T>
    void part(std::string_view name, T& component) {
        if (begin_part(name)) component.visit(*this);
        end_part();
    }

    // True for the visitors of sim::Undo, whose saved state never leaves the process: names do not matter to them,
    // lists of integers are taken as raw memory, and a memory is left to its own checkpoint.
    virtual bool in_place() const { return false; }
    virtual void raw_field(void*, std::size_t) {}
    virtual void memory_field(SparseMemory&) {}

    // A loaded value that does not fit the type is a failure.
    template <typename T>
        requires(std::is_integral_v<T> || std::is_enum_v<T>)
    void field(std::string_view name, T& value);
    void field(std::string_view name, SimTime& value) { u64_field(name, value.ps); }
    void field(std::string_view name, std::string& value);
    void field(std::string_view name, std::vector<u8>& value) { bytes_field(name, value); }
    void field(std::string_view name, std::vector<bool>& value);
    template <typename T, std::size_t N>
    void field(std::string_view name, std::array<T, N>& value);
    template <typename T>
    void field(std::string_view name, std::vector<T>& value);
    template <typename T>
    void field(std::string_view name, std::deque<T>& value);
    template <typename T>
    void field(std::string_view name, std::optional<T>& value);
    template <typename T, typename U>
    void field(std::string_view name, std::pair<T, U>& value);
    template <typename T, typename C>
    void field(std::string_view name, std::set<T, C>& value);
    template <typename K, typename V, typename C>
    void field(std::string_view name, std::map<K, V, C>& value);
    // Anything with visit(StateVisitor&).
    template <typename T>
        requires requires(T& t, StateVisitor& v) { t.visit(v); }
    void field(std::string_view name, T& value) {
        begin(name);
        value.visit(*this);
        end();
    }

private:
    template <typename Sequence>
    void sequence(std::string_view name, Sequence& value);
};

}  // namespace sim

#include "sim/state_visitor_impl.h"
