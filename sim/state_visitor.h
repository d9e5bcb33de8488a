// One function per component serves save, load, digest and diff.
//   void Ptimer::visit(sim::StateVisitor& v) { v.field("alarm", alarm_); v.field("intr_en", intr_en_); }
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "sim/types.h"

namespace sim {

class StateVisitor {
public:
    enum class Mode : u8 { Save, Load, Digest, Diff };
    virtual ~StateVisitor() = default;
    virtual Mode mode() const = 0;
    bool loading() const { return mode() == Mode::Load; }

    // Scalars. Every other form is built from these four.
    virtual void u64_field(std::string_view name, u64& value) = 0;
    virtual void bytes_field(std::string_view name, std::vector<u8>& value) = 0;
    virtual void begin(std::string_view scope) = 0;
    virtual void end() = 0;

    template <typename T>
        requires(std::is_integral_v<T> || std::is_enum_v<T>)
    void field(std::string_view name, T& value);
    void field(std::string_view name, SimTime& value) { u64_field(name, value.ps); }
    void field(std::string_view name, std::string& value);
    template <typename T, std::size_t N>
    void field(std::string_view name, std::array<T, N>& value);
    template <typename T>
    void field(std::string_view name, std::vector<T>& value);
    template <typename K, typename V>
    void field(std::string_view name, std::map<K, V>& value);
    // Anything with visit(StateVisitor&).
    template <typename T>
        requires requires(T& t, StateVisitor& v) { t.visit(v); }
    void field(std::string_view name, T& value) {
        begin(name);
        value.visit(*this);
        end();
    }
};

}  // namespace sim

#include "sim/state_visitor_impl.h"
