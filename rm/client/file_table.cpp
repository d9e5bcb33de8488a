// FileTable: descriptors and the files behind them.
#include "rm/client/file_table.h"

namespace rm::client {

void MmapContext::visit(sim::StateVisitor& visitor) {
    visitor.field("kind", kind);
    visitor.field("address", address);
    visitor.field("bytes", bytes);
    visitor.field("caching", caching);
    visitor.field("writable", writable);
}

void ExportTable::visit(sim::StateVisitor& visitor) {
    visitor.field("copies", copies);
    visitor.field("device_instance", device_instance);
    visitor.field("partition", partition);
    visitor.field("metadata", metadata);
}

void DmaBuf::Part::visit(sim::StateVisitor& visitor) {
    visitor.field("copy", copy);
    visitor.field("offset", offset);
    visitor.field("bytes", bytes);
}

void DmaBuf::visit(sim::StateVisitor& visitor) {
    visitor.field("parts", parts);
    visitor.field("places", places);
    visitor.field("bytes", bytes);
    visitor.field("attached", attached);
    visitor.field("mapping_type", mapping_type);
    visitor.field("allow_mmap", allow_mmap);
    visitor.field("read_only", read_only);
}

void UnixEvent::visit(sim::StateVisitor& visitor) {
    visitor.field("object", object);
    visitor.field("index", index);
    visitor.field("info32", info32);
    visitor.field("info16", info16);
}

void OpenFile::visit(sim::StateVisitor& visitor) {
    visitor.field("id", id);
    visitor.field("pid", pid);
    visitor.field("node", node);
    visitor.field("flags", flags);
    visitor.field("control", control);
    visitor.field("users", users);
    visitor.field("closed", closed);
    visitor.field("attached", attached);
    visitor.field("holds_gpu", holds_gpu);
    visitor.field("context", context);
    visitor.field("exports", exports);
    visitor.field("dma_buf", dma_buf);
    visitor.field("events", events);
    visitor.field("dataless_pending", dataless_pending);
}

OpenFile& FileTable::open(u32 pid, int fd, Node node, u32 flags) {
    FileId id = next_++;
    OpenFile& file = files_[id];
    file.id = id;
    file.pid = pid;
    file.node = node;
    file.flags = flags;
    descriptors_[key(pid, fd)] = id;
    return file;
}

OpenFile* FileTable::find(u32 pid, int fd) {
    auto it = descriptors_.find(key(pid, fd));
    return it == descriptors_.end() ? nullptr : find(it->second);
}

OpenFile* FileTable::find(FileId id) {
    auto it = files_.find(id);
    return it == files_.end() ? nullptr : &it->second;
}

std::vector<FileId> FileTable::close(u32 pid, int fd) {
    std::vector<FileId> gone;
    auto it = descriptors_.find(key(pid, fd));
    if (it == descriptors_.end()) return gone;
    OpenFile* file = find(it->second);
    descriptors_.erase(it);
    file->closed = true;
    if (file->users != 0) return gone;
    gone.push_back(file->id);
    // A tied file releases its control file, which may be tied itself; no chain leads back.
    for (OpenFile* control = find(file->control); control != nullptr; control = find(control->control)) {
        --control->users;
        if (!control->closed || control->users != 0) break;
        gone.push_back(control->id);
    }
    return gone;
}

void FileTable::visit(sim::StateVisitor& visitor) {
    visitor.field("descriptors", descriptors_);
    visitor.field("files", files_);
    visitor.field("next", next_);
}

}  // namespace rm::client
