// EventUnit: keys, registrations, delivery.
#include "rm/client/event_unit.h"

#include <algorithm>

#include "rm/abi/cl0005.h"
#include "rm/abi/flags_alloc.h"
#include "rm/abi/internal_flags.h"
#include "rm/client/engine_map.h"
#include "sim/take_front.h"

namespace rm::client {

namespace {

constexpr u32 kNotifyIndexMask = 0xFFFF;
constexpr u32 kWithoutEventData = 0x10000000;   // NV01_EVENT_WITHOUT_EVENT_DATA
constexpr u32 kNonstallInterrupt = 0x08000000;  // NV01_EVENT_NONSTALL_INTR
constexpr u32 kClientRm = 0x04000000;           // NV01_EVENT_CLIENT_RM
constexpr u16 kPollIn = 0x1;
constexpr u16 kPollPri = 0x2;
constexpr std::size_t kOsEventsMax = 0x4000;  // (model)

// The types that have events, of those that clients make here (INotifier).
bool notifies(std::string_view internal_class) {
    static constexpr std::string_view kTypes[] = {
        "RmClientResource", "Subdevice", "KernelChannel", "KernelGraphicsObject", "KernelCeContext", "NvdecContext",
        "MsencContext", "NvjpgContext", "OfaContext", "Sec2Context", "TimerApi", "ContextDma",
        "KernelSMDebuggerSession", "DispCommon", "DispChannelDma", "DispChannelPio", "DispSwObj", "DispSwObject",
        "DeferredApiObject", "SoftwareMethodTest", "TimedSemaSwObject", "UvmSwObject", "AccessCounterBuffer",
        "MmuFaultBuffer", "GSyncApi",
    };
    return std::find(std::begin(kTypes), std::end(kTypes), internal_class) != std::end(kTypes);
}

}  // namespace

void EventUnit::OsEvent::visit(sim::StateVisitor& visitor) {
    visitor.field("client", client);
    visitor.field("fd", fd);
    visitor.field("file", file);
}

EventUnit::OsEvent* EventUnit::find(NvHandle client, u32 fd) {
    for (OsEvent& event : os_events_)
        if (event.client == client && event.fd == fd) return &event;
    return nullptr;
}

Status EventUnit::allocate_os_event(NvHandle client, u32 fd, FileId file) {
    if (find(client, fd) != nullptr || os_events_.size() >= kOsEventsMax) return NV_ERR_INSUFFICIENT_RESOURCES;
    os_events_.push_back({client, fd, file});
    return NV_OK;
}

Status EventUnit::free_os_event(NvHandle client, u32 fd) {
    OsEvent* event = find(client, fd);
    if (event == nullptr) return NV_ERR_INVALID_EVENT;
    os_events_.erase(os_events_.begin() + (event - os_events_.data()));
    forget_room();
    return NV_OK;
}

// Events that are gone leave nothing behind, not even room for others: see sim/take_front.h.
void EventUnit::forget_room() {
    if (os_events_.empty()) os_events_ = std::vector<OsEvent>();
}

void EventUnit::free_client(NvHandle client) {
    std::erase_if(os_events_, [client](const OsEvent& event) { return event.client == client; });
    forget_room();
}

void EventUnit::free_file(FileId file) {
    std::erase_if(os_events_, [file](const OsEvent& event) { return event.file == file; });
    forget_room();
}

Status EventUnit::construct(AllocCall& call) {
    auto params = call.read<NV0005_ALLOC_PARAMETERS>();
    u32 class_id = call.object.class_id;
    if (class_id == NV01_EVENT_KERNEL_CALLBACK || class_id == NV01_EVENT_KERNEL_CALLBACK_EX)
        return NV_ERR_ILLEGAL_ACTION;
    NvHandle source_client = params.hParentClient != 0 ? params.hParentClient : call.client.handle;
    ClientEntry* owner = context_.server.find_client(source_client);
    if (owner == nullptr || owner->owner != call.client.owner) return NV_ERR_INVALID_CLIENT;
    Object* source = owner->find(params.hSrcResource);
    if (source == nullptr || !notifies(source->internal_class())) return NV_ERR_INVALID_OBJECT;
    EventData event;
    event.source_client = source_client;
    event.source = params.hSrcResource;
    event.notify_index = params.notifyIndex;
    event.os_key = static_cast<u32>(params.data);

    // What hangs below a device is known to the firmware, which raises the event there.
    bool below_device = owner->ancestor(params.hSrcResource, "Device") != nullptr;
    Object* on_gsp = source;
    while (on_gsp != nullptr && !on_gsp->on_gsp && on_gsp->handle != owner->handle)
        on_gsp = owner->find(on_gsp->parent);
    if (below_device && source->on_gsp) {
        NV0005_ALLOC_PARAMETERS told = params;
        told.hParentClient = source_client;
        told.notifyIndex |= kClientRm;
        told.data = 0;
        std::vector<u8> bytes(sizeof(told));
        store(std::span<u8>(bytes), told);
        Status status = context_.adapter.rpc().rm_alloc(call.client.handle, params.hSrcResource, call.object.handle,
                                                        class_id, bytes);
        if (status != NV_OK) return status;
        call.object.on_gsp = true;
    }
    if (class_id == NV01_EVENT_OS_EVENT && find(call.client.handle, event.os_key) == nullptr) {
        context_.note(
            "driver: NV01_EVENT_OS_EVENT whose data is no descriptor given to ALLOC_OS_EVENT: NV_ERR_OBJECT_NOT_FOUND");
        // The firmware is not told that nothing came of it: its object stays until its parent goes, and the handle with it. Observed:
        // 580.159.04.
        call.object.on_gsp = false;
        return NV_ERR_OBJECT_NOT_FOUND;
    }
    if (owner == &call.client && source->handle != call.object.parent) ObjectServer::depend(*source, call.object);
    call.object.data = event;
    call.write(params);
    return NV_OK;
}

void EventUnit::post(const ClientEntry& client, const Object& object, const EventData& event, u32 notifier, u32 info32,
                     u16 info16) {
    OsEvent* target = find(client.handle, event.os_key);
    OpenFile* file = target != nullptr ? context_.files.find(target->file) : nullptr;
    if (file == nullptr) return;
    if ((event.notify_index & kWithoutEventData) != 0) {
        file->dataless_pending = true;
    } else if (file->events.size() < kEventsPerFileMax) {
        file->events.push_back({object.handle, notifier, info32, info16});
    } else {
        context_.note("driver: a file's event queue is full, an event is lost");
    }
    context_.kernel.fibers().notify_all(context_.wake);
}

void EventUnit::notify_subdevice(u32 notifier, u32 info32, u16 info16) {
    for (auto& [handle, client] : context_.server.clients()) {
        for (auto& [number, object] : client.objects) {
            EventData* event = object.as<EventData>();
            if (event == nullptr || (event->notify_index & kNotifyIndexMask) != notifier) continue;
            if ((event->notify_index & kNonstallInterrupt) != 0) continue;
            ClientEntry* owner = context_.server.find_client(event->source_client);
            Object* source = owner != nullptr ? owner->find(event->source) : nullptr;
            SubdeviceData* subdevice = source != nullptr ? source->as<SubdeviceData>() : nullptr;
            if (subdevice == nullptr) continue;
            auto action = subdevice->notify_actions.find(notifier);
            if (action == subdevice->notify_actions.end()) continue;
            if (action->second == NV2080_CTRL_EVENT_SET_NOTIFICATION_ACTION_DISABLE) continue;
            if (action->second == NV2080_CTRL_EVENT_SET_NOTIFICATION_ACTION_SINGLE)
                action->second = NV2080_CTRL_EVENT_SET_NOTIFICATION_ACTION_DISABLE;
            post(client, object, *event, notifier, info32, info16);
        }
    }
}

bool EventUnit::notify_event(NvHandle client, NvHandle handle, u32 notifier, u32 info32, u16 info16) {
    ClientEntry* entry = context_.server.find_client(client);
    Object* object = entry != nullptr ? entry->find(handle) : nullptr;
    EventData* event = object != nullptr ? object->as<EventData>() : nullptr;
    if (event == nullptr) return false;
    post(*entry, *object, *event, notifier & kNotifyIndexMask, info32, info16);
    return true;
}

void EventUnit::notify_source(NvHandle client, NvHandle source, u32 notifier, u32 info32, u16 info16) {
    for (auto& [handle, entry] : context_.server.clients()) {
        for (auto& [number, object] : entry.objects) {
            EventData* event = object.as<EventData>();
            if (event == nullptr || event->source_client != client || event->source != source) continue;
            if ((event->notify_index & kNotifyIndexMask) != notifier) continue;
            post(entry, object, *event, notifier, info32, info16);
        }
    }
}

void EventUnit::notify_nonstall(u32 mc_engine) {
    const EngineName* engine = engine_by_mc(mc_engine);
    if (engine == nullptr || engine->notifier == kNoNotifier) return;
    for (auto& [handle, client] : context_.server.clients()) {
        for (auto& [number, object] : client.objects) {
            EventData* event = object.as<EventData>();
            if (event == nullptr || (event->notify_index & kNonstallInterrupt) == 0) continue;
            u32 wanted = event->notify_index & kNotifyIndexMask;
            if (wanted != engine->notifier && wanted != NV2080_NOTIFIERS_FIFO_EVENT_MTHD) continue;
            post(client, object, *event, wanted, 0, 0);
        }
    }
}

Status EventUnit::pop(OpenFile& file, UnixEvent* event, u32* more) {
    if (file.events.empty()) return NV_ERR_OPERATING_SYSTEM;
    *event = sim::take_front(file.events);
    *more = file.events.empty() ? 0 : 1;
    return NV_OK;
}

u16 EventUnit::poll(OpenFile& file) {
    bool ready = !file.events.empty() || file.dataless_pending;
    if (ready) file.dataless_pending = false;
    return ready ? kPollIn | kPollPri : 0;
}

void EventUnit::visit(sim::StateVisitor& visitor) {
    visitor.field("os_events", os_events_);
}

}  // namespace rm::client
