// Open device nodes: what each descriptor is, which control file it belongs to, its mapping context and its queue of
// events. Source: open-gpu-kernel-modules 570.144, kernel-open/nvidia/nv.c, nv-usermap.c, osapi.c.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "rm/client/object.h"
#include "rm/driver_surface.h"

namespace rm::client {

// DmaBuf is no node: a file that the driver makes (dma_buf_unit.h).
enum class Node : u8 { Control, Gpu, Uvm, DmaBuf };

// What MAP_MEMORY left on a file for the mmap that follows.
struct MmapContext {
    MappingExtent::Kind kind = MappingExtent::Kind::SystemMemory;
    u64 address = 0;  // system physical address or BAR offset of the first page
    u64 bytes = 0;    // whole pages
    Caching caching = Caching::WriteBack;
    bool writable = true;
    void visit(sim::StateVisitor& visitor);
};

struct UnixEvent {
    u32 object = 0;
    u32 index = 0;
    u32 info32 = 0;
    u16 info16 = 0;
    void visit(sim::StateVisitor& visitor);
};

// What a file carries after an export (export_unit.h).
struct ExportTable {
    std::vector<NvHandle> copies;  // of the exporting unit's client; 0: an empty place
    u32 device_instance = 0;       // of all of them
    u32 partition = 0;             // a GPU instance; all ones: none
    std::vector<u8> metadata;      // the exporter's own words
    void visit(sim::StateVisitor& visitor);
};

// Memory objects that together are one DMA buffer (dma_buf_unit.h).
struct DmaBuf {
    struct Part {
        NvHandle copy = 0;  // of the exporting unit's client
        u64 offset = 0;
        u64 bytes = 0;
        void visit(sim::StateVisitor& visitor);
    };
    std::map<u32, Part> parts;  // by place
    u32 places = 0;
    u64 bytes = 0;     // of the whole buffer
    u64 attached = 0;  // bytes of the parts
    u8 mapping_type = 0;
    u8 allow_mmap = 0;
    std::optional<bool> read_only;  // what all parts must have in common, once one was there
    void visit(sim::StateVisitor& visitor);
};

inline constexpr std::size_t kEventsPerFileMax = 0x1000;  // bounds a file that nobody reads (model)

struct OpenFile {
    FileId id = 0;
    u32 pid = 0;
    Node node = Node::Control;
    u32 flags = 0;
    FileId control = 0;  // REGISTER_FD: the control file that it is tied to
    u32 users = 0;       // files tied to this one
    bool closed = false;
    bool attached = false;  // ATTACH_GPUS_TO_FD was called
    bool holds_gpu = false;
    std::optional<MmapContext> context;
    std::optional<ExportTable> exports;
    std::optional<DmaBuf> dma_buf;
    std::deque<UnixEvent> events;
    bool dataless_pending = false;
    void visit(sim::StateVisitor& visitor);
};

class FileTable {
public:
    OpenFile& open(u32 pid, int fd, Node node, u32 flags);
    OpenFile* find(u32 pid, int fd);
    OpenFile* find(FileId id);
    // The descriptor is gone; the file stays while others are tied to it. Files to release, in order.
    std::vector<FileId> close(u32 pid, int fd);
    void erase(FileId id) { files_.erase(id); }
    // The file whose clients a call on `file` may use.
    static FileId owner_of(const OpenFile& file) { return file.control != 0 ? file.control : file.id; }
    std::map<FileId, OpenFile>& files() { return files_; }
    void visit(sim::StateVisitor& visitor);

private:
    static u64 key(u32 pid, int fd) { return u64{pid} << 32 | static_cast<u32>(fd); }
    std::map<u64, FileId> descriptors_;
    std::map<FileId, OpenFile> files_;
    FileId next_ = 1;
};

}  // namespace rm::client
