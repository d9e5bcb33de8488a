// The guest's CPU on Unicorn 2.0.1: the only file that knows the library. Facts about it that its documentation does not give
// (where the feature words, the privilege level and the pending exception lie in its CPU state) were measured, and are checked when an
// engine is made: another library is refused instead of believed.
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <unicorn/unicorn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

#include "guest_harness/guest/cpuid.h"
#include "guest_harness/guest/guest_cpu.h"
#include "sim/check.h"

namespace {

// Some byte sequences that no CPU accepts (far calls with a register operand) make Unicorn's translator call abort(). While an engine
// runs, that call lands back in UnicornCpu::run(); at all other times abort() is what it always was.
thread_local sigjmp_buf* abort_target = nullptr;

}  // namespace

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
// Unicorn loses some kilobytes with each engine, and an engine whose translator gave up is abandoned on purpose.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
    return "leak:_x86_64\nleak:uc_\nleak:tcg_\nleak:g_tree_\nleak:g_hash_table_\nleak:page_find_alloc\nleak:translator_loop\n";
}
#endif
#endif

extern "C" void abort() noexcept {
    if (abort_target != nullptr) siglongjmp(*abort_target, 1);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGABRT);
    sigprocmask(SIG_UNBLOCK, &set, nullptr);
    raise(SIGABRT);
    signal(SIGABRT, SIG_DFL);
    raise(SIGABRT);
    _exit(128 + SIGABRT);
}

namespace harness {
namespace {

// A translation block costs its code bytes at 3 GHz and one 4-byte instruction per cycle, in whole picoseconds. (model)
constexpr u64 kPsPerCodeByte = 83;
constexpr u64 kNeverReached = ~u64{0};  // `until` of uc_emu_start: guests have no code there

// Layout of uc_context {size_t size; int mode; int arch; u8 data[]} and of the CPU state in `data`, in this library.
constexpr std::size_t kContextHeader = 16;
constexpr std::size_t kContextBytes = 5544;
constexpr std::size_t kHflagsOffset = kContextHeader + 176;
constexpr u32 kHflagsAtReset = 0x0040c0b0;
constexpr u32 kHflagsUserMode = 3;
constexpr std::size_t kOldExceptionOffset = kContextHeader + 5464;
constexpr std::size_t kFeatureSearchBytes = 0x400;  // the feature words follow the part that a context normally covers
constexpr std::array<u64, 3> kFeaturesAtReset = {0x07088100, 0x02182200, 0x00180108};
enum FeatureWord : std::size_t { kWord1Edx = 0, kWord1Ecx = 1, kWord7Ebx = 2, kWord80000001Edx = 6, kWord80000001Ecx = 7, kWords = 8 };

// OSFXSR and OSXMMEXCPT (without them FXSAVE skips the XMM registers), TSD (RDTSC traps), FSGSBASE.
constexpr u64 kCr4 = 0x600 | 0x4 | 0x10000;
constexpr u16 kFpuControl = 0x37f;
constexpr u32 kMxcsr = 0x1f80;
constexpr u16 kFpuTagsEmpty = 0xffff;

constexpr int kRegisterIds[] = {UC_X86_REG_RAX, UC_X86_REG_RBX, UC_X86_REG_RCX, UC_X86_REG_RDX, UC_X86_REG_RSI, UC_X86_REG_RDI,
                                UC_X86_REG_RBP, UC_X86_REG_RSP, UC_X86_REG_R8, UC_X86_REG_R9, UC_X86_REG_R10, UC_X86_REG_R11,
                                UC_X86_REG_R12, UC_X86_REG_R13, UC_X86_REG_R14, UC_X86_REG_R15, UC_X86_REG_RIP,
                                UC_X86_REG_RFLAGS, UC_X86_REG_FS_BASE, UC_X86_REG_GS_BASE};
constexpr int kRegisterCount = static_cast<int>(std::size(kRegisterIds));

std::array<u64*, std::size(kRegisterIds)> slots(CpuRegisters& r) {
    return {&r.rax, &r.rbx, &r.rcx, &r.rdx, &r.rsi, &r.rdi, &r.rbp, &r.rsp, &r.r8, &r.r9, &r.r10, &r.r11,
            &r.r12, &r.r13, &r.r14, &r.r15, &r.rip, &r.rflags, &r.fs_base, &r.gs_base};
}

template <typename Word>
Word load(const CpuContext& bytes, std::size_t offset) {
    Word value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}
template <typename Word>
void store(CpuContext& bytes, std::size_t offset, Word value) {
    std::memcpy(bytes.data() + offset, &value, sizeof value);
}

void demand(bool fact, const char* what) {
    if (!fact)
        throw sim::HostError(std::string("this libunicorn is not the one that tu104sim knows (2.0.1): ") + what +
                             "; install Debian 12's libunicorn2");
}

class UnicornCpu final : public GuestCpu {
public:
    UnicornCpu();
    ~UnicornCpu() override;

    void map_memory(u64 address, u64 bytes, u8 prot, u8* host) override;
    void map_device(u64 address, u64 bytes, bool writable) override;
    void unmap(u64 address, u64 bytes) override;
    void protect(u64 address, u64 bytes, u8 prot) override;
    void code_changed(u64 address, u64 bytes) override;
    void watch(u64 begin, u64 end) override {
        watch_begin_ = begin;
        watch_bytes_ = end - begin;
    }
    CpuRegisters registers() override;
    void set_registers(const CpuRegisters& registers) override;
    CpuContext save() override;
    void restore(const CpuContext& context) override;
    CpuStop run(CpuClock& clock, CpuObserver& observer) override;
    u64 store_count() const override { return store_count_; }
    std::string identity() const override;

private:
    struct DeviceRegion {
        UnicornCpu* cpu;
        u64 base;
        u64 bytes;
        bool writable;
    };
    // Host code called from the emulator must not have its own abort() caught.
    class HostCode {
    public:
        HostCode() : saved_(abort_target) { abort_target = nullptr; }
        ~HostCode() { abort_target = saved_; }
        HostCode(const HostCode&) = delete;
        HostCode& operator=(const HostCode&) = delete;

    private:
        sigjmp_buf* saved_;
    };

    void check(uc_err error, const char* what) const {
        SIM_CHECK(error == UC_ERR_OK, what, uc_strerror(error));
    }
    void become_user_mode();
    void widen_features();
    void add_hooks();
    void clear_pending_exception();
    bool emulate_timestamp(const CpuClock& clock);
    void start_engine(u64 rip);
    CpuStop explain(uc_err error);
    CpuStop explain_interrupt(u32 number);

    static void on_block(uc_engine* uc, u64 address, u32 bytes, void* self);
    static void on_memory(uc_engine* uc, uc_mem_type type, u64 address, int bytes, i64 value, void* self);
    static bool on_invalid(uc_engine* uc, uc_mem_type type, u64 address, int bytes, i64 value, void* self);
    static void on_interrupt(uc_engine* uc, u32 number, void* self);
    static void on_syscall(uc_engine* uc, void* self);
    static int on_cpuid(uc_engine* uc, void* self);
    static u32 on_in(uc_engine* uc, u32 port, int bytes, void* self);
    static void on_out(uc_engine* uc, u32 port, int bytes, u32 value, void* self);
    static u64 on_device_load(uc_engine* uc, u64 offset, unsigned bytes, void* region);
    static void on_device_store(uc_engine* uc, u64 offset, unsigned bytes, u64 value, void* region);

    enum class Reason : u8 { None, Deadline, Syscall, Interrupt, PortAccess };
    uc_engine* uc_ = nullptr;
    bool aborted_ = false;
    CpuClock* clock_ = nullptr;
    CpuObserver* observer_ = nullptr;
    Reason reason_ = Reason::None;
    uc_err error_ = UC_ERR_OK;
    u32 interrupt_ = 0;
    u64 fault_address_ = 0;
    u64 watch_begin_ = 0;
    u64 watch_bytes_ = 0;
    u64 store_count_ = 0;
    std::map<u64, std::unique_ptr<DeviceRegion>> devices_;
    CpuContext context_header_;
};

UnicornCpu::UnicornCpu() {
    unsigned major = 0;
    unsigned minor = 0;
    uc_version(&major, &minor);
    demand(major == 2 && minor == 0, "its version differs");
    uc_err error = uc_open(UC_ARCH_X86, UC_MODE_64, &uc_);
    if (error != UC_ERR_OK) throw sim::HostError(std::string("libunicorn cannot start an x86-64 engine: ") + uc_strerror(error));
    demand(uc_context_size(uc_) == kContextBytes, "its saved context has another size");
    uc_context* context = nullptr;
    check(uc_context_alloc(uc_, &context), "uc_context_alloc");
    // uc_context_save fills size, mode and architecture; they are kept as the head of every context we make.
    check(uc_context_save(uc_, context), "uc_context_save");
    const u8* bytes = reinterpret_cast<const u8*>(context);
    context_header_.assign(bytes, bytes + kContextHeader);
    uc_context_free(context);
    widen_features();
    become_user_mode();
    add_hooks();
}

UnicornCpu::~UnicornCpu() {
    // An engine that was left by a jump out of its translator may hold broken state: it is abandoned, not closed.
    if (!aborted_) uc_close(uc_);
}

void UnicornCpu::widen_features() {
    // The library overwrites every CPU model's features with one fixed set, and decodes by that set. The words lie behind the part of
    // the state that a context covers, so a larger context reaches them; ordinary contexts never undo this.
    CpuContext wide = context_header_;
    u64 data_bytes = kContextBytes - kContextHeader + kFeatureSearchBytes;
    store(wide, 0, data_bytes);
    wide.resize(kContextHeader + data_bytes);
    check(uc_context_save(uc_, reinterpret_cast<uc_context*>(wide.data())), "wide uc_context_save");
    std::size_t found = 0;
    unsigned hits = 0;
    for (std::size_t at = kContextBytes; at + kWords * sizeof(u64) <= wide.size(); at += sizeof(u64)) {
        if (std::memcmp(wide.data() + at, kFeaturesAtReset.data(), sizeof kFeaturesAtReset) == 0) {
            found = at;
            ++hits;
        }
    }
    demand(hits == 1, "its feature words are not where they were");
    auto set = [&](FeatureWord word, u32 value) { store(wide, found + word * sizeof(u64), u64{value}); };
    set(kWord1Edx, cpuid::kFeatures1Edx);
    set(kWord1Ecx, cpuid::kFeatures1Ecx);
    set(kWord7Ebx, cpuid::kFeatures7Ebx);
    set(kWord80000001Edx, cpuid::kFeatures80000001Edx);
    set(kWord80000001Ecx, cpuid::kFeatures80000001Ecx);
    check(uc_context_restore(uc_, reinterpret_cast<uc_context*>(wide.data())), "wide uc_context_restore");
}

void UnicornCpu::become_user_mode() {
    CpuContext context = save();
    demand(load<u32>(context, kHflagsOffset) == kHflagsAtReset, "its CPU flags at reset differ");
    store(context, kHflagsOffset, kHflagsAtReset | kHflagsUserMode);
    store(context, kOldExceptionOffset, i32{-1});
    restore(context);
    u64 cr4 = kCr4;
    check(uc_reg_write(uc_, UC_X86_REG_CR4, &cr4), "CR4");
    check(uc_reg_write(uc_, UC_X86_REG_FPCW, &kFpuControl), "FPCW");
    check(uc_reg_write(uc_, UC_X86_REG_MXCSR, &kMxcsr), "MXCSR");
    check(uc_reg_write(uc_, UC_X86_REG_FPTAG, &kFpuTagsEmpty), "FPTAG");
}

void UnicornCpu::add_hooks() {
    constexpr u64 kAll = ~u64{0};
    uc_hook hook = 0;
    auto add = [&](int type, auto* function) {
        check(uc_hook_add(uc_, &hook, type, reinterpret_cast<void*>(function), this, 0, kAll), "uc_hook_add");
    };
    auto add_instruction = [&](int instruction, auto* function) {
        check(uc_hook_add(uc_, &hook, UC_HOOK_INSN, reinterpret_cast<void*>(function), this, 0, kAll, instruction), "uc_hook_add");
    };
    add(UC_HOOK_BLOCK, &on_block);
    // Beside watching, a memory hook makes the instruction pointer exact at every fault.
    add(UC_HOOK_MEM_READ | UC_HOOK_MEM_WRITE, &on_memory);
    add(UC_HOOK_MEM_UNMAPPED | UC_HOOK_MEM_PROT, &on_invalid);
    add(UC_HOOK_INTR, &on_interrupt);
    add_instruction(UC_X86_INS_SYSCALL, &on_syscall);
    add_instruction(UC_X86_INS_CPUID, &on_cpuid);
    add_instruction(UC_X86_INS_IN, &on_in);
    add_instruction(UC_X86_INS_OUT, &on_out);
}

void UnicornCpu::map_memory(u64 address, u64 bytes, u8 prot, u8* host) {
    check(uc_mem_map_ptr(uc_, address, bytes, prot, host), "uc_mem_map_ptr");
}

void UnicornCpu::map_device(u64 address, u64 bytes, bool writable) {
    auto region = std::make_unique<DeviceRegion>(DeviceRegion{this, address, bytes, writable});
    check(uc_mmio_map(uc_, address, bytes, &on_device_load, region.get(), writable ? &on_device_store : nullptr, region.get()),
          "uc_mmio_map");
    devices_[address] = std::move(region);
}

void UnicornCpu::unmap(u64 address, u64 bytes) {
    u64 end = address + bytes;
    // The library cannot cut a device region: it goes as a whole and what is left comes back.
    std::vector<DeviceRegion> cut;
    std::erase_if(devices_, [&](const auto& entry) {
        const DeviceRegion& region = *entry.second;
        if (region.base + region.bytes <= address || region.base >= end) return false;
        cut.push_back(region);
        return true;
    });
    u64 at = address;
    for (const DeviceRegion& region : cut) {
        u64 region_end = region.base + region.bytes;
        if (at < region.base) check(uc_mem_unmap(uc_, at, region.base - at), "uc_mem_unmap");
        check(uc_mem_unmap(uc_, region.base, region.bytes), "uc_mem_unmap");
        if (region.base < address) map_device(region.base, address - region.base, region.writable);
        if (region_end > end) map_device(end, region_end - end, region.writable);
        at = std::min(end, region_end);
    }
    if (at < end) check(uc_mem_unmap(uc_, at, end - at), "uc_mem_unmap");
}

void UnicornCpu::protect(u64 address, u64 bytes, u8 prot) {
    check(uc_mem_protect(uc_, address, bytes, prot), "uc_mem_protect");
}

void UnicornCpu::code_changed(u64 address, u64 bytes) {
    check(uc_ctl_remove_cache(uc_, address, address + bytes), "uc_ctl_remove_cache");
}

CpuRegisters UnicornCpu::registers() {
    CpuRegisters registers;
    auto targets = slots(registers);
    std::array<int, std::size(kRegisterIds)> ids;
    std::copy(std::begin(kRegisterIds), std::end(kRegisterIds), ids.begin());
    std::array<void*, std::size(kRegisterIds)> values;
    std::copy(targets.begin(), targets.end(), values.begin());
    check(uc_reg_read_batch(uc_, ids.data(), values.data(), kRegisterCount), "uc_reg_read_batch");
    return registers;
}

void UnicornCpu::set_registers(const CpuRegisters& registers) {
    CpuRegisters copy = registers;
    auto sources = slots(copy);
    for (std::size_t index = 0; index < sources.size(); ++index)
        check(uc_reg_write(uc_, kRegisterIds[index], sources[index]), "uc_reg_write");
}

CpuContext UnicornCpu::save() {
    CpuContext context = context_header_;
    context.resize(kContextBytes);
    check(uc_context_save(uc_, reinterpret_cast<uc_context*>(context.data())), "uc_context_save");
    return context;
}

void UnicornCpu::restore(const CpuContext& context) {
    SIM_CHECK(context.size() == kContextBytes, context.size());
    CpuContext copy = context;
    check(uc_context_restore(uc_, reinterpret_cast<uc_context*>(copy.data())), "uc_context_restore");
}

// After a trap the core believes that an exception is still in flight, and the next one would be a double fault.
void UnicornCpu::clear_pending_exception() {
    CpuContext context = save();
    store(context, kOldExceptionOffset, i32{-1});
    restore(context);
}

// RDTSC and RDTSCP trap so that they read virtual time; anything else that trapped the same way is privileged.
bool UnicornCpu::emulate_timestamp(const CpuClock& clock) {
    CpuRegisters registers = this->registers();
    std::array<u8, 3> code{};
    for (std::size_t index = 0; index < code.size(); ++index)
        if (uc_mem_read(uc_, registers.rip + index, &code[index], 1) != UC_ERR_OK) break;
    bool rdtsc = code[0] == 0x0f && code[1] == 0x31;
    bool rdtscp = code[0] == 0x0f && code[1] == 0x01 && code[2] == 0xf9;
    if (!rdtsc && !rdtscp) return false;
    u64 ticks = clock.now_ps / cpuid::kTscPeriodPs;
    registers.rax = ticks & 0xffff'ffff;
    registers.rdx = ticks >> 32;
    if (rdtscp) registers.rcx = 0;  // IA32_TSC_AUX: processor 0, node 0
    registers.rip += rdtsc ? 2 : 3;
    set_registers(registers);
    return true;
}

// Apart from run(), so that no variable of run() lives across the jump.
void UnicornCpu::start_engine(u64 rip) {
    sigjmp_buf target;
    if (sigsetjmp(target, 1) == 0) {
        abort_target = &target;
        error_ = uc_emu_start(uc_, rip, kNeverReached, 0, 0);
    } else {
        aborted_ = true;
    }
    abort_target = nullptr;
}

CpuStop UnicornCpu::run(CpuClock& clock, CpuObserver& observer) {
    SIM_CHECK(!aborted_);
    clock_ = &clock;
    observer_ = &observer;
    for (;;) {
        u64 rip = 0;
        check(uc_reg_read(uc_, UC_X86_REG_RIP, &rip), "RIP");
        reason_ = Reason::None;
        start_engine(rip);
        clock.now_ps += clock.running_ps;
        clock.running_ps = 0;
        if (aborted_)
            return {.kind = CpuStop::Kind::Aborted, .signal = SIGILL, .address = rip, .text = "an instruction that does not exist"};
        if (reason_ == Reason::Deadline) return {};
        if (reason_ == Reason::Syscall) return {.kind = CpuStop::Kind::Syscall, .text = {}};
        if (reason_ == Reason::PortAccess)
            return {.kind = CpuStop::Kind::Trap, .signal = SIGSEGV, .text = "an I/O port instruction"};
        if (reason_ == Reason::None) return explain(error_);
        clear_pending_exception();
        if (interrupt_ != 13 || !emulate_timestamp(clock)) return explain_interrupt(interrupt_);
    }
}

CpuStop UnicornCpu::explain(uc_err error) {
    using Access = CpuStop::Access;
    CpuStop stop{.kind = CpuStop::Kind::MemoryFault, .signal = SIGSEGV, .address = fault_address_, .text = {}};
    switch (error) {
        case UC_ERR_READ_UNMAPPED: stop.text = "a load from an unmapped page"; break;
        case UC_ERR_WRITE_UNMAPPED: stop.text = "a store to an unmapped page"; stop.access = Access::Write; break;
        case UC_ERR_FETCH_UNMAPPED: stop.text = "a jump to an unmapped page"; stop.access = Access::Fetch; break;
        case UC_ERR_READ_PROT: stop.text = "a load from a page without read permission"; stop.mapped = true; break;
        case UC_ERR_WRITE_PROT:
            stop.text = "a store to a read-only page";
            stop.mapped = true;
            stop.access = Access::Write;
            break;
        case UC_ERR_FETCH_PROT:
            stop.text = "a jump to a page that is not executable";
            stop.mapped = true;
            stop.access = Access::Fetch;
            break;
        case UC_ERR_INSN_INVALID:
            stop = {.kind = CpuStop::Kind::Trap, .signal = SIGILL, .text = "an illegal or unsupported instruction"};
            break;
        case UC_ERR_OK: stop = {.kind = CpuStop::Kind::Trap, .signal = SIGSEGV, .text = "a halt instruction"}; break;
        default: stop = {.kind = CpuStop::Kind::Trap, .signal = SIGSEGV, .text = uc_strerror(error)}; break;
    }
    return stop;
}

CpuStop UnicornCpu::explain_interrupt(u32 number) {
    CpuStop stop{.kind = CpuStop::Kind::Trap, .signal = SIGSEGV, .text = {}};
    switch (number) {
        case 0: stop.signal = SIGFPE; stop.text = "an integer division by zero or overflow"; break;
        case 1:
        case 3: stop.signal = SIGTRAP; stop.text = "a breakpoint"; break;
        case 6: stop.signal = SIGILL; stop.text = "an illegal instruction"; break;
        case 13: stop.text = "a privileged instruction"; break;
        case 16:
        case 19: stop.signal = SIGFPE; stop.text = "a floating-point exception"; break;
        default: stop.text = "software interrupt " + std::to_string(number); break;
    }
    return stop;
}

std::string UnicornCpu::identity() const {
    return "unicorn " + std::to_string(UC_API_MAJOR) + "." + std::to_string(UC_API_MINOR) + "." + std::to_string(UC_API_PATCH);
}

void UnicornCpu::on_block(uc_engine* uc, u64 /*address*/, u32 bytes, void* self) {
    auto& cpu = *static_cast<UnicornCpu*>(self);
    CpuClock& clock = *cpu.clock_;
    clock.now_ps += clock.running_ps;
    clock.running_ps = 0;
    if (clock.now_ps >= clock.deadline_ps) {
        cpu.reason_ = Reason::Deadline;
        uc_emu_stop(uc);
        return;
    }
    clock.running_ps = bytes * kPsPerCodeByte;
    ++clock.blocks;
}

void UnicornCpu::on_memory(uc_engine*, uc_mem_type type, u64 address, int bytes, i64 value, void* self) {
    auto& cpu = *static_cast<UnicornCpu*>(self);
    if (type == UC_MEM_WRITE) ++cpu.store_count_;
    if (address - cpu.watch_begin_ >= cpu.watch_bytes_) return;
    HostCode guard;
    unsigned size = std::min(static_cast<unsigned>(bytes), 8U);
    if (type == UC_MEM_WRITE) cpu.observer_->on_store(address, size, static_cast<u64>(value));
    else cpu.observer_->on_load(address, size);
}

bool UnicornCpu::on_invalid(uc_engine*, uc_mem_type, u64 address, int, i64, void* self) {
    auto& cpu = *static_cast<UnicornCpu*>(self);
    cpu.fault_address_ = address;
    return false;
}

void UnicornCpu::on_interrupt(uc_engine* uc, u32 number, void* self) {
    auto& cpu = *static_cast<UnicornCpu*>(self);
    cpu.reason_ = Reason::Interrupt;
    cpu.interrupt_ = number;
    uc_emu_stop(uc);
}

void UnicornCpu::on_syscall(uc_engine* uc, void* self) {
    static_cast<UnicornCpu*>(self)->reason_ = Reason::Syscall;
    uc_emu_stop(uc);
}

int UnicornCpu::on_cpuid(uc_engine* uc, void*) {
    u64 leaf = 0;
    u64 subleaf = 0;
    uc_reg_read(uc, UC_X86_REG_RAX, &leaf);
    uc_reg_read(uc, UC_X86_REG_RCX, &subleaf);
    cpuid::Leaf row = cpuid::find(static_cast<u32>(leaf));
    if (row.leaf == 7 && static_cast<u32>(subleaf) != 0) row = {7, 0, 0, 0, 0};
    u64 values[] = {row.eax, row.ebx, row.ecx, row.edx};
    uc_reg_write(uc, UC_X86_REG_RAX, &values[0]);
    uc_reg_write(uc, UC_X86_REG_RBX, &values[1]);
    uc_reg_write(uc, UC_X86_REG_RCX, &values[2]);
    uc_reg_write(uc, UC_X86_REG_RDX, &values[3]);
    return 1;  // answered: the library's own answer is skipped
}

u32 UnicornCpu::on_in(uc_engine* uc, u32, int, void* self) {
    static_cast<UnicornCpu*>(self)->reason_ = Reason::PortAccess;
    uc_emu_stop(uc);
    return ~u32{0};
}

void UnicornCpu::on_out(uc_engine* uc, u32, int, u32, void* self) {
    static_cast<UnicornCpu*>(self)->reason_ = Reason::PortAccess;
    uc_emu_stop(uc);
}

u64 UnicornCpu::on_device_load(uc_engine*, u64 offset, unsigned bytes, void* region) {
    auto& device = *static_cast<DeviceRegion*>(region);
    HostCode guard;
    return device.cpu->observer_->device_load(device.base + offset, bytes);
}

void UnicornCpu::on_device_store(uc_engine*, u64 offset, unsigned bytes, u64 value, void* region) {
    auto& device = *static_cast<DeviceRegion*>(region);
    HostCode guard;
    device.cpu->observer_->device_store(device.base + offset, bytes, value);
}

}  // namespace

std::unique_ptr<GuestCpu> make_unicorn_cpu() { return std::make_unique<UnicornCpu>(); }

}  // namespace harness
