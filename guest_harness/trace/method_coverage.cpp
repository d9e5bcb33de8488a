// The rules of what counts. Sources: class headers clc46f.h and clc5b5.h, and the manuals' words on which bits an operation reads.
#include "guest_harness/trace/method_coverage.h"

#include <fmt/format.h>

namespace harness::trace {

namespace {

namespace host = gpu::nvc46f;
namespace ce = gpu::nvc5b5;

using Shadow = std::map<u32, u32>;

u32 of(const Shadow& state, u32 method) {
    auto found = state.find(method);
    return found == state.end() ? 0 : found->second;
}

// --- when the fields of the channel class count

bool sem_acquires(const Shadow& s) {
    u32 operation = host::SEM_EXECUTE_OPERATION::get(of(s, host::SEM_EXECUTE));
    return operation != host::SEM_EXECUTE_OPERATION_RELEASE && operation != host::SEM_EXECUTE_OPERATION_REDUCTION;
}
bool sem_releases(const Shadow& s) {
    return host::SEM_EXECUTE_OPERATION::get(of(s, host::SEM_EXECUTE)) == host::SEM_EXECUTE_OPERATION_RELEASE;
}
bool sem_reduces(const Shadow& s) {
    return host::SEM_EXECUTE_OPERATION::get(of(s, host::SEM_EXECUTE)) == host::SEM_EXECUTE_OPERATION_REDUCTION;
}
bool old_sem_acquires(const Shadow& s) {
    u32 operation = host::SEMAPHORED_OPERATION::get(of(s, host::SEMAPHORED));
    return operation != host::SEMAPHORED_OPERATION_RELEASE && operation != host::SEMAPHORED_OPERATION_REDUCTION;
}
bool old_sem_releases(const Shadow& s) {
    return host::SEMAPHORED_OPERATION::get(of(s, host::SEMAPHORED)) == host::SEMAPHORED_OPERATION_RELEASE;
}
bool old_sem_reduces(const Shadow& s) {
    return host::SEMAPHORED_OPERATION::get(of(s, host::SEMAPHORED)) == host::SEMAPHORED_OPERATION_REDUCTION;
}
u32 mem_operation(const Shadow& s) { return host::MEM_OP_D_OPERATION::get(of(s, host::MEM_OP_D)); }
bool invalidates(const Shadow& s) {
    return mem_operation(s) == host::MEM_OP_D_OPERATION_MMU_TLB_INVALIDATE ||
           mem_operation(s) == host::MEM_OP_D_OPERATION_MMU_TLB_INVALIDATE_TARGETED;
}
bool invalidates_one_space(const Shadow& s) {
    return invalidates(s) &&
           host::MEM_OP_C_TLB_INVALIDATE_PDB::get(of(s, host::MEM_OP_C)) == host::MEM_OP_C_TLB_INVALIDATE_PDB_ONE;
}
// One set of bits is the kind of access of a cancel by address, and the level of any other invalidate.
bool cancels_by_address(const Shadow& s) {
    return invalidates(s) && host::MEM_OP_C_TLB_INVALIDATE_REPLAY::get(of(s, host::MEM_OP_C)) ==
                                 host::MEM_OP_C_TLB_INVALIDATE_REPLAY_CANCEL_VA_GLOBAL;
}
bool invalidates_by_level(const Shadow& s) { return invalidates(s) && !cancels_by_address(s); }
bool is_membar(const Shadow& s) { return mem_operation(s) == host::MEM_OP_D_OPERATION_MEMBAR; }
bool clears_counters(const Shadow& s) { return mem_operation(s) == host::MEM_OP_D_OPERATION_ACCESS_COUNTER_CLR; }
bool clears_one_counter(const Shadow& s) {
    return clears_counters(s) && host::MEM_OP_D_ACCESS_COUNTER_CLR_TYPE::get(of(s, host::MEM_OP_D)) ==
                                     host::MEM_OP_D_ACCESS_COUNTER_CLR_TYPE_TARGETED;
}

// --- and those of the copy class

u32 launch_word(const Shadow& s) { return of(s, ce::LAUNCH_DMA); }
bool moves_data(const Shadow& s) {
    return ce::LAUNCH_DMA_DATA_TRANSFER_TYPE::get(launch_word(s)) != ce::LAUNCH_DMA_DATA_TRANSFER_TYPE_NONE;
}
bool releases(const Shadow& s) {
    return ce::LAUNCH_DMA_SEMAPHORE_TYPE::get(launch_word(s)) != ce::LAUNCH_DMA_SEMAPHORE_TYPE_NONE;
}
bool reduces(const Shadow& s) {
    return releases(s) && ce::LAUNCH_DMA_SEMAPHORE_REDUCTION_ENABLE::get(launch_word(s)) != 0;
}
bool flushes(const Shadow& s) { return ce::LAUNCH_DMA_FLUSH_ENABLE::get(launch_word(s)) != 0; }
bool remaps(const Shadow& s) { return moves_data(s) && ce::LAUNCH_DMA_REMAP_ENABLE::get(launch_word(s)) != 0; }
u32 written_components(const Shadow& s) {
    return remaps(s) ? ce::SET_REMAP_COMPONENTS_NUM_DST_COMPONENTS::get(of(s, ce::SET_REMAP_COMPONENTS)) + 1 : 0;
}
bool writes_y(const Shadow& s) { return written_components(s) > 1; }
bool writes_z(const Shadow& s) { return written_components(s) > 2; }
bool writes_w(const Shadow& s) { return written_components(s) > 3; }
bool tiles_source(const Shadow& s) {
    return moves_data(s) &&
           ce::LAUNCH_DMA_SRC_MEMORY_LAYOUT::get(launch_word(s)) == ce::LAUNCH_DMA_SRC_MEMORY_LAYOUT_BLOCKLINEAR;
}
bool tiles_destination(const Shadow& s) {
    return moves_data(s) &&
           ce::LAUNCH_DMA_DST_MEMORY_LAYOUT::get(launch_word(s)) == ce::LAUNCH_DMA_DST_MEMORY_LAYOUT_BLOCKLINEAR;
}
bool physical_source(const Shadow& s) {
    return moves_data(s) && ce::LAUNCH_DMA_SRC_TYPE::get(launch_word(s)) == ce::LAUNCH_DMA_SRC_TYPE_PHYSICAL;
}
bool physical_destination(const Shadow& s) {
    return moves_data(s) && ce::LAUNCH_DMA_DST_TYPE::get(launch_word(s)) == ce::LAUNCH_DMA_DST_TYPE_PHYSICAL;
}
bool always(const Shadow&) { return true; }

// `field` counts when `trigger` arrives and `applies` then holds. An empty field stands for those of the method without a rule
// of their own. Fields without any rule count when their own method arrives.
struct Rule {
    u32 class_id;
    u32 method;
    std::string_view field;
    u32 trigger;
    bool (*applies)(const Shadow&);
};

constexpr u32 kHost = gpu::cls::TURING_CHANNEL_GPFIFO_A;
constexpr u32 kCopy = gpu::cls::TURING_DMA_COPY_A;

constexpr Rule kRules[] = {
    {kHost, host::SEM_EXECUTE, "ACQUIRE_SWITCH_TSG", host::SEM_EXECUTE, sem_acquires},
    {kHost, host::SEM_EXECUTE, "RELEASE_WFI", host::SEM_EXECUTE, sem_releases},
    {kHost, host::SEM_EXECUTE, "RELEASE_TIMESTAMP", host::SEM_EXECUTE, sem_releases},
    {kHost, host::SEM_EXECUTE, "REDUCTION", host::SEM_EXECUTE, sem_reduces},
    {kHost, host::SEM_EXECUTE, "REDUCTION_FORMAT", host::SEM_EXECUTE, sem_reduces},
    {kHost, host::SEMAPHORED, "ACQUIRE_SWITCH", host::SEMAPHORED, old_sem_acquires},
    {kHost, host::SEMAPHORED, "RELEASE_WFI", host::SEMAPHORED, old_sem_releases},
    {kHost, host::SEMAPHORED, "RELEASE_SIZE", host::SEMAPHORED, old_sem_releases},
    {kHost, host::SEMAPHORED, "REDUCTION", host::SEMAPHORED, old_sem_reduces},
    {kHost, host::SEMAPHORED, "FORMAT", host::SEMAPHORED, old_sem_reduces},
    {kHost, host::MEM_OP_A, "", host::MEM_OP_D, invalidates},
    {kHost, host::MEM_OP_C, "MEMBAR_TYPE", host::MEM_OP_D, is_membar},
    {kHost, host::MEM_OP_C, "TLB_INVALIDATE_ACCESS_TYPE", host::MEM_OP_D, cancels_by_address},
    {kHost, host::MEM_OP_C, "TLB_INVALIDATE_PAGE_TABLE_LEVEL", host::MEM_OP_D, invalidates_by_level},
    {kHost, host::MEM_OP_C, "TLB_INVALIDATE_PDB_APERTURE", host::MEM_OP_D, invalidates_one_space},
    {kHost, host::MEM_OP_C, "", host::MEM_OP_D, invalidates},
    {kHost, host::MEM_OP_D, "ACCESS_COUNTER_CLR_TYPE", host::MEM_OP_D, clears_counters},
    {kHost, host::MEM_OP_D, "ACCESS_COUNTER_CLR_TARGETED_TYPE", host::MEM_OP_D, clears_one_counter},
    {kCopy, ce::LAUNCH_DMA, "FLUSH_TYPE", ce::LAUNCH_DMA, flushes},
    {kCopy, ce::LAUNCH_DMA, "SRC_MEMORY_LAYOUT", ce::LAUNCH_DMA, moves_data},
    {kCopy, ce::LAUNCH_DMA, "DST_MEMORY_LAYOUT", ce::LAUNCH_DMA, moves_data},
    {kCopy, ce::LAUNCH_DMA, "MULTI_LINE_ENABLE", ce::LAUNCH_DMA, moves_data},
    {kCopy, ce::LAUNCH_DMA, "REMAP_ENABLE", ce::LAUNCH_DMA, moves_data},
    {kCopy, ce::LAUNCH_DMA, "FORCE_RMWDISABLE", ce::LAUNCH_DMA, moves_data},
    {kCopy, ce::LAUNCH_DMA, "SRC_TYPE", ce::LAUNCH_DMA, moves_data},
    {kCopy, ce::LAUNCH_DMA, "DST_TYPE", ce::LAUNCH_DMA, moves_data},
    {kCopy, ce::LAUNCH_DMA, "SEMAPHORE_REDUCTION", ce::LAUNCH_DMA, reduces},
    {kCopy, ce::LAUNCH_DMA, "SEMAPHORE_REDUCTION_SIGN", ce::LAUNCH_DMA, reduces},
    {kCopy, ce::LAUNCH_DMA, "SEMAPHORE_REDUCTION_ENABLE", ce::LAUNCH_DMA, releases},
    {kCopy, ce::LAUNCH_DMA, "SRC_BYPASS_L2", ce::LAUNCH_DMA, moves_data},
    {kCopy, ce::LAUNCH_DMA, "DST_BYPASS_L2", ce::LAUNCH_DMA, moves_data},
    {kCopy, ce::LAUNCH_DMA, "VPRMODE", ce::LAUNCH_DMA, moves_data},
    {kCopy, ce::LAUNCH_DMA, "DISABLE_PLC", ce::LAUNCH_DMA, moves_data},
    {kCopy, ce::SET_RENDER_ENABLE_C, "", ce::LAUNCH_DMA, always},
    {kCopy, ce::SET_SRC_PHYS_MODE, "", ce::LAUNCH_DMA, physical_source},
    {kCopy, ce::SET_DST_PHYS_MODE, "", ce::LAUNCH_DMA, physical_destination},
    {kCopy, ce::SET_SRC_BLOCK_SIZE, "", ce::LAUNCH_DMA, tiles_source},
    {kCopy, ce::SET_DST_BLOCK_SIZE, "", ce::LAUNCH_DMA, tiles_destination},
    {kCopy, ce::SET_REMAP_COMPONENTS, "DST_Y", ce::LAUNCH_DMA, writes_y},
    {kCopy, ce::SET_REMAP_COMPONENTS, "DST_Z", ce::LAUNCH_DMA, writes_z},
    {kCopy, ce::SET_REMAP_COMPONENTS, "DST_W", ce::LAUNCH_DMA, writes_w},
    {kCopy, ce::SET_REMAP_COMPONENTS, "", ce::LAUNCH_DMA, remaps},
};

const Rule* rule_for(u32 class_id, u32 method, std::string_view field) {
    const Rule* whole_method = nullptr;
    for (const Rule& rule : kRules) {
        if (rule.class_id != class_id || rule.method != method) continue;
        if (rule.field == field) return &rule;
        if (rule.field.empty()) whole_method = &rule;
    }
    return whole_method;
}

// Values that no work can exercise on this machine, and why.
struct Unreachable {
    u32 class_id;
    std::string_view name;
    std::string_view reason;
};
constexpr Unreachable kUnreachable[] = {
    {kCopy, "LAUNCH_DMA.VPRMODE=VPR_VID2VID", "no protected region is set up on this board: refused by name"},
    {kCopy, "LAUNCH_DMA.SEMAPHORE_TYPE=RELEASE_CONDITIONAL_INTR_SEMAPHORE", "what it compares is not published: refused by name"},
};

std::string_view reason_for(u32 class_id, std::string_view name) {
    for (const Unreachable& row : kUnreachable) {
        if (row.class_id == class_id && row.name == name) return row.reason;
    }
    return {};
}

bool measured(u32 class_id) { return class_id == kHost || class_id == kCopy; }

u32 bits_of(u32 data, u32 high, u32 low) { return data >> low & static_cast<u32>((u64{2} << (high - low)) - 1); }

double percent(u32 part, u32 whole) { return whole == 0 ? 100.0 : 100.0 * part / whole; }

}  // namespace

void MethodCoverage::add(u32 channel, const MethodWord& word) {
    if (!word.known || !measured(word.class_id)) return;
    const gpu::MethodTable& table = *gpu::find_method_table(word.class_id);
    State& state = states_[{channel, word.class_id}];
    state[word.method] = word.data;
    seen_.insert({word.class_id, table.find(word.method)->row});
    // The word itself, then what earlier words stored for it.
    count_fields(table, word.method, word.data, word.method, state);
    for (const Rule& rule : kRules) {
        if (rule.class_id != word.class_id || rule.trigger != word.method || rule.method == word.method) continue;
        if (auto stored = state.find(rule.method); stored != state.end())
            count_fields(table, rule.method, stored->second, word.method, state);
    }
}

void MethodCoverage::count_fields(const gpu::MethodTable& table, u32 method, u32 data, u32 trigger, const State& state) {
    std::span<const gpu::MethodDef> rows = table.rows();
    const gpu::MethodDef* field = nullptr;
    bool counts = false;
    for (std::size_t row = table.find(method)->row + 1; row < rows.size(); ++row) {
        if (rows[row].kind == gpu::MethodDef::Kind::Method) break;
        if (rows[row].kind == gpu::MethodDef::Kind::Field) {
            field = &rows[row];
            const Rule* rule = rule_for(table.class_id(), method, field->name);
            counts = rule == nullptr ? trigger == method : trigger == rule->trigger && rule->applies(state);
        } else if (counts && bits_of(data, field->first, field->second) == rows[row].first) {
            seen_.insert({table.class_id(), row});
        }
    }
}

std::vector<MethodCoverage::ClassBars> MethodCoverage::bars() const {
    std::vector<ClassBars> out;
    for (u32 class_id : {kHost, kCopy}) {
        const gpu::MethodTable& table = *gpu::find_method_table(class_id);
        ClassBars bars;
        bars.class_id = class_id;
        bars.class_name = table.class_name();
        std::string_view method, field;
        for (std::size_t row = 0; row < table.rows().size(); ++row) {
            const gpu::MethodDef& def = table.rows()[row];
            if (def.kind == gpu::MethodDef::Kind::Field) {
                field = def.name;
                continue;
            }
            bool is_method = def.kind == gpu::MethodDef::Kind::Method;
            if (is_method) method = def.name;
            bool seen = seen_.count({class_id, row}) != 0;
            ++(is_method ? bars.methods : bars.values);
            if (seen) {
                ++(is_method ? bars.methods_seen : bars.values_seen);
                continue;
            }
            std::string name = is_method ? std::string(method) : fmt::format("{}.{}={}", method, field, def.name);
            std::string reason(reason_for(class_id, name));
            bars.missing.push_back({std::move(name), std::move(reason)});
        }
        out.push_back(std::move(bars));
    }
    return out;
}

std::string MethodCoverage::text() const {
    std::string out;
    for (const ClassBars& bars : this->bars()) {
        out += fmt::format("  {:04X} {:<24} methods {} of {} ({:.1f}%)  values {} of {} ({:.1f}%)\n", bars.class_id,
                           bars.class_name, bars.methods_seen, bars.methods, percent(bars.methods_seen, bars.methods),
                           bars.values_seen, bars.values, percent(bars.values_seen, bars.values));
        for (const Missing& missing : bars.missing)
            out += fmt::format("       not exercised: {}{}{}\n", missing.name, missing.reason.empty() ? "" : ": ", missing.reason);
    }
    return out;
}

}  // namespace harness::trace
