// Traces of what kernels execute, in two forms: Accel-Sim's (the format that its post-processed .traceg files have,
// tracer version 4) and one for people, with the values of the registers that each instruction wrote.
// Source: the format as Accel-Sim's public trace reader takes it. Program counters count from the kernel's entry.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gpu_model/sm/exec/access_view.h"
#include "gpu_model/sm/exec/observer.h"
#include "gpu_model/sm/exec/register_use.h"

namespace gpu::sm {

// Takes the pieces of the trace's files, each in order.
class TextSink {
public:
    virtual void append(std::string_view file, std::string_view text) = 0;

protected:
    ~TextSink() = default;
};

// Files: kernelslist.g, and for kernel n kernel-n.traceg and kernel-n.txt.
class SassTrace final : public GridObserver {
public:
    // Blocks are written when they end: those that run side by side may together hold so much text. What a kernel does
    // beyond it is left out, and its files say so.
    static constexpr u64 kBufferedMax = u64{512} << 20;

    explicit SassTrace(TextSink& sink) : sink_(sink) {}
    // The next grid is of this kernel; otherwise its entry's address names it.
    void name_next(std::string_view name) { next_name_ = name; }

    void on_grid(const GridRun& grid) override;
    void on_grid_end(const GridRun& grid) override;
    void on_block_end(const Cta& cta) override;
    Verdict before(const Step& step) override;
    void after(const Step& step) override;
    u64 kernels() const { return kernels_; }

private:
    struct WarpText {
        u64 count = 0;
        std::string machine, people;
    };
    struct Kernel {
        u64 number = 0;
        std::string name;
        u64 entry = 0;
        bool cut = false;
        std::map<u64, std::vector<WarpText>> blocks;  // by linear index
        std::map<u64, std::array<u32, 3>> ids;
        std::string file(std::string_view suffix) const;
    };
    void write_block(Kernel& kernel, u64 linear);
    void add(const Step& step, const std::string& machine, const std::string& people);

    TextSink& sink_;
    std::string next_name_;
    u64 kernels_ = 0;
    u64 buffered_ = 0;
    std::map<u64, Kernel> running_;  // by GridRun::id()
    // Of the instruction between before() and after().
    std::optional<MemoryAccess> access_;
    RegisterUse use_;
};

}  // namespace gpu::sm
