// Sparse memory over one reservation of host address space. The host supplies zeroed pages on first write (mmap(2):
// MAP_NORESERVE, and MADV_DONTNEED gives them back zeroed), so untouched content needs no bookkeeping. A first write
// asks for a block of pages at once: taking a page fault for each was half the time of a short replay.
#include "sim/sparse_memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "sim/check.h"
#include "sim/page_set.h"
#include "sim/state_visitor.h"

namespace sim {
namespace {

// Address space that takes host memory page by page, on first write.
class Reservation {
public:
    Reservation(const std::string& name, u64 bytes) : bytes_(bytes) {
        base_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (base_ == MAP_FAILED) {
            throw HostError(fmt::format("{}: the host refused {} MiB of address space; raise the limit (ulimit -v)",
                                        name, bytes >> 20));
        }
    }
    ~Reservation() { munmap(base_, bytes_); }
    Reservation(const Reservation&) = delete;
    Reservation& operator=(const Reservation&) = delete;

    u8* bytes() const { return static_cast<u8*>(base_); }
    void zero() { madvise(base_, bytes_, MADV_DONTNEED); }
    // Host memory for this range now, in one call. Only a hint: a kernel before 5.14 refuses it, and faults serve as well.
    void populate(u64 address, u64 count) {
        madvise(bytes() + address, std::min(count, bytes_ - address), MADV_POPULATE_WRITE);
    }

private:
    u64 bytes_;
    void* base_;
};

bool all_zero(const u8* page) {
    u64 words[8];
    for (u64 offset = 0; offset < SparseMemory::kPageBytes; offset += sizeof words) {
        std::memcpy(words, page + offset, sizeof words);
        if ((words[0] | words[1] | words[2] | words[3] | words[4] | words[5] | words[6] | words[7]) != 0) return false;
    }
    return true;
}

constexpr u64 kNoPage = ~u64{0};
constexpr u64 kBlockPages = 16;

u64 page_of(u64 address) { return address / SparseMemory::kPageBytes; }
u64 block_of(u64 page) { return page / kBlockPages; }

}  // namespace

struct SparseMemory::Impl {
    Impl(const std::string& name, u64 bytes)
        : data(name, bytes),
          page_digests(name, page_of(bytes) * sizeof(Digest128)),
          undigested(page_of(bytes)),
          nonzero(page_of(bytes)),
          unsaved(page_of(bytes)),
          populated(block_of(page_of(bytes)) + 1) {}

    u8* page(u64 number) { return data.bytes() + number * kPageBytes; }
    // Zero for a page of zeroes, which the sum then ignores.
    Digest128& page_digest(u64 number) { return reinterpret_cast<Digest128*>(page_digests.bytes())[number]; }

    void populate_blocks(u64 first, u64 last);
    // As new, but with its host memory. False: too much was written for that to be worth while.
    bool wipe();
    void refresh_digest();
    void save_page(u64 number);
    void restore_page(u64 number);

    Reservation data;
    Reservation page_digests;
    PageSet undigested;  // written since the last digest
    PageSet nonzero;     // not all zero, as of the last digest
    PageSet unsaved;     // written since the last checkpoint
    PageSet populated;   // by block
    Digest128 sum;
    u64 last_marked = kNoPage;  // already in both sets of written pages: saves repeated small writes the work

    std::unique_ptr<Reservation> saved;  // the checkpoint, page by page at the same offsets
    std::unique_ptr<PageSet> saved_nonzero;
    class Spares;
};

void SparseMemory::Impl::populate_blocks(u64 first, u64 last) {
    for (u64 block = first; block <= last; ++block) {
        if (populated.contains(block)) continue;
        u64 end = block + 1;
        while (end <= last && !populated.contains(end)) ++end;
        populated.insert_range(block, end - 1);
        data.populate(block * kBlockPages * kPageBytes, (end - block) * kBlockPages * kPageBytes);
        block = end;
    }
}

bool SparseMemory::Impl::wipe() {
    constexpr u64 kPagesMax = 8192;
    nonzero.insert_all(undigested);
    u64 count = 0;
    nonzero.for_each([&count](u64) { ++count; });
    if (count > kPagesMax) return false;
    nonzero.for_each([this](u64 number) { std::memset(page(number), 0, kPageBytes); });
    for (PageSet* pages : {&undigested, &nonzero, &unsaved}) pages->clear();
    sum = {};
    last_marked = kNoPage;
    saved.reset();
    saved_nonzero.reset();
    return true;
}

// Memories of machines that are gone, wiped, for those to come: a process that runs one machine after another takes page
// faults for the first only. They were most of the time of a short replay.
class SparseMemory::Impl::Spares {
public:
    static Spares& instance() {
        static Spares spares;
        return spares;
    }
    std::unique_ptr<Impl> take(u64 bytes) {
        for (auto it = spares_.begin(); it != spares_.end(); ++it) {
            if (it->bytes != bytes) continue;
            std::unique_ptr<Impl> found = std::move(it->memory);
            spares_.erase(it);
            return found;
        }
        return nullptr;
    }
    void give(u64 bytes, std::unique_ptr<Impl> memory) {
        if (spares_.size() < kSparesMax && memory->wipe()) spares_.push_back({bytes, std::move(memory)});
    }

private:
    static constexpr std::size_t kSparesMax = 4;
    struct Spare {
        u64 bytes;
        std::unique_ptr<Impl> memory;
    };
    std::vector<Spare> spares_;
};

void SparseMemory::Impl::refresh_digest() {
    undigested.for_each([this](u64 number) {
        const u8* content = page(number);
        Digest128& digest = page_digest(number);
        if (nonzero.contains(number)) sum -= digest;
        if (all_zero(content)) {
            nonzero.erase(number);
            return;
        }
        digest = digest_bytes({content, kPageBytes}, number);
        sum += digest;
        nonzero.insert(number);
    });
    undigested.clear();
    last_marked = kNoPage;
}

void SparseMemory::Impl::save_page(u64 number) {
    u8* copy = saved->bytes() + number * kPageBytes;
    if (nonzero.contains(number)) {
        std::memcpy(copy, page(number), kPageBytes);
        saved_nonzero->insert(number);
    } else if (saved_nonzero->contains(number)) {
        std::memset(copy, 0, kPageBytes);
        saved_nonzero->erase(number);
    }
}

void SparseMemory::Impl::restore_page(u64 number) {
    if (saved_nonzero->contains(number)) {
        std::memcpy(page(number), saved->bytes() + number * kPageBytes, kPageBytes);
    } else if (!all_zero(page(number))) {
        // Reading an untouched page takes no host memory, writing one would.
        std::memset(page(number), 0, kPageBytes);
    }
}

SparseMemory::SparseMemory(std::string name, u64 bytes) : name_(std::move(name)), bytes_(bytes) {
    SIM_CHECK(bytes > 0 && bytes % kPageBytes == 0, name_, bytes);
    impl_ = Impl::Spares::instance().take(bytes);
    if (impl_ == nullptr) impl_ = std::make_unique<Impl>(name_, bytes);
}

SparseMemory::~SparseMemory() { Impl::Spares::instance().give(bytes_, std::move(impl_)); }

void SparseMemory::mark_range(u64 address, u64 bytes) {
    if (bytes == 0) return;
    u64 first = page_of(address);
    u64 last = page_of(address + bytes - 1);
    if (first == last) {
        if (first == impl_->last_marked) return;
        impl_->undigested.insert(first);
        impl_->unsaved.insert(first);
    } else {
        impl_->undigested.insert_range(first, last);
        impl_->unsaved.insert_range(first, last);
    }
    impl_->last_marked = last;
    // With a checkpoint there are restores, and pages keep their host memory: not which of them have it decides what code runs.
    if (impl_->saved == nullptr) impl_->populate_blocks(block_of(first), block_of(last));
}

void SparseMemory::read(u64 address, std::span<u8> out) const {
    SIM_CHECK(contains(address, out.size()), name_, address, out.size());
    if (!out.empty()) std::memcpy(out.data(), impl_->data.bytes() + address, out.size());
}

void SparseMemory::write(u64 address, std::span<const u8> bytes) {
    SIM_CHECK(contains(address, bytes.size()), name_, address, bytes.size());
    if (bytes.empty()) return;
    mark_range(address, bytes.size());
    std::memcpy(impl_->data.bytes() + address, bytes.data(), bytes.size());
}

u32 SparseMemory::read_u32(u64 address) const {
    SIM_CHECK(contains(address, sizeof(u32)), name_, address);
    u32 value = 0;
    std::memcpy(&value, impl_->data.bytes() + address, sizeof value);
    return value;
}

u64 SparseMemory::read_u64(u64 address) const {
    SIM_CHECK(contains(address, sizeof(u64)), name_, address);
    u64 value = 0;
    std::memcpy(&value, impl_->data.bytes() + address, sizeof value);
    return value;
}

void SparseMemory::write_u32(u64 address, u32 value) {
    SIM_CHECK(contains(address, sizeof value), name_, address);
    mark_range(address, sizeof value);
    std::memcpy(impl_->data.bytes() + address, &value, sizeof value);
}

void SparseMemory::write_u64(u64 address, u64 value) {
    SIM_CHECK(contains(address, sizeof value), name_, address);
    mark_range(address, sizeof value);
    std::memcpy(impl_->data.bytes() + address, &value, sizeof value);
}

std::span<const u8> SparseMemory::view(u64 address, u64 bytes) const {
    SIM_CHECK(contains(address, bytes), name_, address, bytes);
    return {impl_->data.bytes() + address, bytes};
}

std::span<u8> SparseMemory::window(u64 address, u64 bytes, bool for_write) {
    SIM_CHECK(contains(address, bytes), name_, address, bytes);
    if (for_write) mark_range(address, bytes);
    return {impl_->data.bytes() + address, bytes};
}

void SparseMemory::mark_dirty(u64 address, u64 bytes) {
    SIM_CHECK(contains(address, bytes), name_, address, bytes);
    mark_range(address, bytes);
}

Digest128 SparseMemory::digest() const {
    impl_->refresh_digest();
    return impl_->sum;
}

std::vector<u64> SparseMemory::nonzero_pages() const {
    impl_->refresh_digest();
    std::vector<u64> pages;
    impl_->nonzero.for_each([&](u64 number) { pages.push_back(number); });
    return pages;
}

void SparseMemory::clear() {
    // What a checkpoint holds may differ from zero wherever something was or is.
    impl_->unsaved.insert_all(impl_->nonzero);
    impl_->unsaved.insert_all(impl_->undigested);
    impl_->data.zero();
    impl_->page_digests.zero();
    impl_->undigested.clear();
    impl_->nonzero.clear();
    impl_->sum = {};
    impl_->last_marked = kNoPage;
}

void SparseMemory::checkpoint() {
    impl_->refresh_digest();
    if (impl_->saved == nullptr) {
        impl_->saved = std::make_unique<Reservation>(name_, bytes_);
        impl_->saved_nonzero = std::make_unique<PageSet>(page_of(bytes_));
        impl_->nonzero.for_each([this](u64 number) { impl_->save_page(number); });
    } else {
        impl_->unsaved.for_each([this](u64 number) { impl_->save_page(number); });
    }
    impl_->unsaved.clear();
    impl_->last_marked = kNoPage;
}

void SparseMemory::restore() {
    SIM_CHECK(impl_->saved != nullptr, name_);
    impl_->unsaved.for_each([this](u64 number) {
        impl_->restore_page(number);
        impl_->undigested.insert(number);
    });
    impl_->unsaved.clear();
    impl_->last_marked = kNoPage;
}

void SparseMemory::visit(StateVisitor& visitor) {
    if (visitor.in_place()) return visitor.memory_field(*this);
    if (visitor.mode() == StateVisitor::Mode::Digest) {
        Digest128 now = digest();
        visitor.field("low", now.low);
        visitor.field("high", now.high);
        return;
    }
    u64 size = bytes_;
    visitor.field("size", size);
    if (visitor.loading()) {
        if (size != bytes_) visitor.fail("size", "this machine's memory has another size");
        if (visitor.failed()) return;
        clear();
    }
    std::vector<u64> pages = visitor.loading() ? std::vector<u64>{} : nonzero_pages();
    u64 count = visitor.begin_map("pages", pages.size());
    std::vector<u8> content;
    for (u64 i = 0; i < count && !visitor.failed(); ++i) {
        u64 number = visitor.loading() ? 0 : pages[i];
        if (!visitor.loading()) content.assign(impl_->page(number), impl_->page(number) + kPageBytes);
        visitor.field("", number);
        visitor.field("", content);
        if (!visitor.loading() || visitor.failed()) continue;
        if (number >= page_of(bytes_)) visitor.fail("", "a page beyond the end of memory");
        else if (content.size() != kPageBytes) visitor.fail("", "not a page of 4096 bytes");
        else write(number * kPageBytes, content);
    }
    visitor.end_map();
}

}  // namespace sim
