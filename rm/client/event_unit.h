// Events: keys made by ALLOC_OS_EVENT, event objects, and their delivery to the queue of the file that waits for them.
// Source: open-gpu-kernel-modules 570.144, osapi.c (allocate_os_event, get_os_event_data), nv.c (nv_post_event),
// event.c, event_notification.c.
#pragma once

#include "rm/client/context.h"

namespace rm::client {

class EventUnit {
public:
    explicit EventUnit(Context& context) : context_(context) {}

    Status allocate_os_event(NvHandle client, u32 fd, FileId file);
    Status free_os_event(NvHandle client, u32 fd);
    void free_client(NvHandle client);
    void free_file(FileId file);

    Status construct(AllocCall& call);

    // Everybody who registered for `notifier` of a subdevice, single-shot registrations once.
    void notify_subdevice(u32 notifier, u32 info32, u16 info16);
    // One event object. False: no such object.
    bool notify_event(NvHandle client, NvHandle event, u32 notifier, u32 info32, u16 info16);
    // Events of a channel or object (hSrcResource).
    void notify_source(NvHandle client, NvHandle source, u32 notifier, u32 info32, u16 info16);
    // The non-stall interrupt of an engine.
    void notify_nonstall(u32 mc_engine);

    // NV_ERR_OPERATING_SYSTEM: the queue is empty.
    Status pop(OpenFile& file, UnixEvent* event, u32* more);
    u16 poll(OpenFile& file);
    void visit(sim::StateVisitor& visitor);

private:
    struct OsEvent {
        NvHandle client = 0;
        u32 fd = 0;
        FileId file = 0;
        void visit(sim::StateVisitor& visitor);
    };
    OsEvent* find(NvHandle client, u32 fd);
    void forget_room();
    void post(const ClientEntry& client, const Object& object, const EventData& event, u32 notifier, u32 info32,
              u16 info16);

    Context& context_;
    std::vector<OsEvent> os_events_;
};

}  // namespace rm::client
