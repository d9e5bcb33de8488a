// A sequence grows call by call from the objects that the calls before it should have made. One mutation at most spoils a call, so
// that a difference between two drivers points to one rule.
#include "guest_harness/conform/generator.h"

#include <algorithm>
#include <array>

#include "guest_harness/conform/controls.h"
#include "guest_harness/conform/generator_classes.h"
#include "rm/abi/classes.h"
#include "rm/abi/controls.h"
#include "rm/abi/engine_types.h"
#include "rm/abi/flags_alloc.h"
#include "rm/abi/flags_nvos.h"
#include "rm/abi/ioctls.h"
#include "rm/abi/nvos.h"
#include "sim/check.h"
#include "sim/rng.h"

namespace harness::conform {

namespace abi = rm::abi;

namespace {

constexpr u32 kNone = ~u32{0};
constexpr u32 kMadeUpHandle = 0xBAD0'0001;
constexpr u32 kFirstHandle = 0xCAFE'0001;

struct Object {
    Kind kind = Kind::Leaf;
    u32 class_id = 0;
    u32 handle = 0;
    u32 symbol = kNone;  // the handle is what the driver returned
    u32 parent = kNone;
    u32 client = kNone;  // index of its client
    u32 file = 0;        // the file that owns the client
    u64 bytes = 0;       // memory
    bool alive = true;
};

enum class Spoil : u8 {
    Nothing,
    ClientZero, ClientMadeUp, ClientOther,
    ParentMadeUp, ParentOther,
    ObjectMadeUp, ObjectOther, ObjectFreed,
    ParamsNull, ParamsUnmapped, ParamsShort, ParamsSizeUp, ParamsSizeZero, ParamsSizeHuge,
    WrongFile, GpuFile, ShorterRequest, LongerRequest, OtherNumber, Flags, Transfer,
    kCount,
};

class Generator {
public:
    Generator(u64 seed, const rm::DriverVersion& version)
        : version_(version), random_(seed, "conform", "sequence") {
        sequence_.seed = seed;
    }

    Sequence make() {
        open(Node::Control);
        if (chance(9, 10)) root();
        if (chance(9, 10)) {
            const u32 gpu = open(Node::Gpu);
            if (chance(9, 10)) register_file(gpu, 0);
        }
        if (chance(9, 10)) alloc(kClasses[0]);
        if (chance(9, 10)) alloc(kClasses[1]);
        const u64 calls = 4 + random_.below(14);
        for (u64 i = 0; i < calls; ++i) call();
        return std::move(sequence_);
    }

private:
    bool chance(u64 numerator, u64 denominator) { return random_.chance(numerator, denominator); }
    template <typename T, std::size_t N>
    T pick(const std::array<T, N>& values) { return values[random_.below(N)]; }

    // --- steps -------------------------------------------------------------------------------------------------------
    u32 open(Node node) {
        Step step;
        step.kind = StepKind::Open;
        step.node = node;
        step.file = static_cast<u32>(files_.size());
        files_.push_back(node);
        sequence_.steps.push_back(step);
        return step.file;
    }

    // One escape under construction: the argument is block 0.
    struct Call {
        Step step;
        std::string_view type;
    };
    Call begin(u32 number, std::string_view type, u32 bytes, u32 file) {
        Call call;
        call.type = type;
        call.step.file = file;
        call.step.request = request(number, bytes);
        call.step.blocks.push_back(Block{std::vector<u8>(bytes), ~u32{0}});
        return call;
    }
    Call begin(u32 number, std::string_view type, u32 file) {
        return begin(number, type, rm::struct_bytes(version_, type), file);
    }
    static u32 request(u32 number, u32 bytes) {
        const u32 word = abi::IOC_DIR::make(3) | abi::IOC_TYPE::make(abi::NV_IOCTL_MAGIC) | abi::IOC_NR::make(number);
        return abi::IOC_SIZE::set(word, bytes);
    }
    rm::FieldPlace place(std::string_view type, std::string_view field) const {
        const std::optional<rm::FieldPlace> found = rm::field_place(version_, type, field);
        return found ? *found : rm::FieldPlace{};
    }
    void put(Call& call, u32 block, std::string_view type, std::string_view field, u64 value) {
        const rm::FieldPlace where = place(type, field);
        std::vector<u8>& bytes = call.step.blocks[block].bytes;
        for (u32 i = 0; i < std::min(where.bytes, u32{8}) && where.offset + i < bytes.size(); ++i) {
            bytes[where.offset + i] = static_cast<u8>(value >> (8 * i));
        }
    }
    void put(Call& call, std::string_view field, u64 value) { put(call, 0, call.type, field, value); }
    void hole(Call& call, u32 block, std::string_view type, std::string_view field, Symbol symbol, u32 index) {
        const rm::FieldPlace where = place(type, field);
        if (where.bytes < 4) return;
        std::erase_if(call.step.holes, [&](const Hole& old) { return old.block == block && old.offset == where.offset; });
        call.step.holes.push_back({block, where.offset, std::min(where.bytes, u32{8}), symbol, index});
    }
    // An object's handle; objects_[index], or 0 for kNone.
    void put_object(Call& call, u32 block, std::string_view type, std::string_view field, u32 index) {
        if (index == kNone) return;
        const Object& object = objects_[index];
        if (object.symbol != kNone) hole(call, block, type, field, Symbol::Handle, object.symbol);
        else put(call, block, type, field, object.handle);
    }
    void put_object(Call& call, std::string_view field, u32 index) { put_object(call, 0, call.type, field, index); }
    void put_handle(Call& call, std::string_view field, u32 value) {
        const rm::FieldPlace where = place(call.type, field);
        std::erase_if(call.step.holes, [&](const Hole& old) { return old.block == 0 && old.offset == where.offset; });
        put(call, field, value);
    }
    u32 add_block(Call& call, u32 bytes) {
        call.step.blocks.push_back(Block{std::vector<u8>(bytes), ~u32{0}});
        return static_cast<u32>(call.step.blocks.size() - 1);
    }
    void finish(Call& call) { sequence_.steps.push_back(std::move(call.step)); }

    // --- objects ------------------------------------------------------------------------------------------------------
    u32 any(Kind kind) {
        std::vector<u32> found;
        for (u32 i = 0; i < objects_.size(); ++i) {
            if (objects_[i].kind == kind && objects_[i].alive) found.push_back(i);
        }
        return found.empty() ? kNone : found[random_.below(found.size())];
    }
    u32 any_object() { return objects_.empty() ? kNone : static_cast<u32>(random_.below(objects_.size())); }
    u32 any_dead() {
        std::vector<u32> found;
        for (u32 i = 0; i < objects_.size(); ++i) {
            if (!objects_[i].alive) found.push_back(i);
        }
        return found.empty() ? kNone : found[random_.below(found.size())];
    }
    u32 other_client(u32 client) {
        for (u32 i = 0; i < objects_.size(); ++i) {
            if (objects_[i].kind == Kind::Client && i != client) return i;
        }
        return kNone;
    }
    u32 client_of(u32 object) const { return object == kNone ? kNone : objects_[object].client; }
    u32 file_of(u32 object) const { return object == kNone ? 0 : objects_[object].file; }
    void kill(u32 index) {
        objects_[index].alive = false;
        for (u32 i = 0; i < objects_.size(); ++i) {
            if (objects_[i].alive && objects_[i].parent == index) kill(i);
        }
    }

    // --- what spoils a call ------------------------------------------------------------------------------------------
    Spoil choose_spoil() {
        if (!chance(2, 5)) return Spoil::Nothing;
        return static_cast<Spoil>(1 + random_.below(static_cast<u64>(Spoil::kCount) - 1));
    }
    // Those that any escape can have. True: the call is no longer what it was meant to be.
    bool spoil_envelope(Call& call, Spoil spoil) {
        Step& step = call.step;
        const u32 number = abi::IOC_NR::get(step.request);
        const u32 bytes = static_cast<u32>(step.blocks[0].bytes.size());
        switch (spoil) {
            case Spoil::WrongFile: {
                step.file = open(Node::Control);
                return true;
            }
            case Spoil::GpuFile: {
                for (u32 file = 0; file < files_.size(); ++file) {
                    if (files_[file] == Node::Gpu) step.file = file;
                }
                return true;
            }
            case Spoil::ShorterRequest: step.request = request(number, bytes - 4); return true;
            case Spoil::LongerRequest:
                step.request = request(number, bytes + 8);
                step.blocks[0].bytes.resize(bytes + 8);
                return true;
            case Spoil::OtherNumber: {
                // None of these does anything with a struct of any size.
                step.request = request(pick(std::array<u32, 6>{0x00, 0x01, 0x28, 0x50, 0xF0, 0xFF}), bytes);
                return true;
            }
            case Spoil::Transfer: {
                Block inner = step.blocks[0];
                step.blocks[0].bytes.assign(16, 0);
                step.blocks.push_back(std::move(inner));
                const u32 index = static_cast<u32>(step.blocks.size() - 1);
                for (Hole& old : step.holes) {
                    if (old.block == 0) old.block = index;
                }
                step.defines.reset();
                for (u32 i = 0; i < 4; ++i) {
                    step.blocks[0].bytes[i] = static_cast<u8>(number >> (8 * i));
                    step.blocks[0].bytes[4 + i] = static_cast<u8>(bytes >> (8 * i));
                }
                step.request = request(abi::NV_ESC_IOCTL_XFER_CMD, 16);
                step.holes.push_back({0, 8, 8, Symbol::Pointer, index});
                return false;
            }
            default: return false;
        }
    }
    // Those of a call with a parameter block; `pointer` and `size` name the argument's fields.
    bool spoil_params(Call& call, Spoil spoil, std::string_view pointer, std::string_view size, u32 block) {
        const u32 bytes = static_cast<u32>(call.step.blocks[block].bytes.size());
        const rm::FieldPlace where = place(call.type, pointer);
        switch (spoil) {
            case Spoil::ParamsNull:
                std::erase_if(call.step.holes,
                              [&](const Hole& old) { return old.block == 0 && old.offset == where.offset; });
                return true;
            case Spoil::ParamsUnmapped: call.step.blocks[block].mapped = 0; return true;
            case Spoil::ParamsShort:
                call.step.blocks[block].mapped = static_cast<u32>(random_.below(std::max(bytes, u32{1})));
                return true;
            case Spoil::ParamsSizeUp: put(call, size, bytes + 4); return true;
            case Spoil::ParamsSizeZero: put(call, size, 0); return true;
            case Spoil::ParamsSizeHuge: put(call, size, 0xFFFF'FFF0); return true;
            default: return false;
        }
    }

    // --- calls --------------------------------------------------------------------------------------------------------
    void call() {
        static constexpr u32 kWeights[] = {34, 22, 12, 6, 7, 5, 6, 5, 4, 3, 3, 2, 3};
        u64 total = 0;
        for (u32 weight : kWeights) total += weight;
        u64 draw = random_.below(total);
        std::size_t choice = 0;
        while (draw >= kWeights[choice]) draw -= kWeights[choice++];
        switch (choice) {
            case 0: alloc(); break;
            case 1: control(); break;
            case 2: free(); break;
            case 3: dup(); break;
            case 4: map_memory(); break;
            case 5: map_dma(); break;
            case 6: os_event(); break;
            case 7: handshake(); break;
            case 8: root(); break;
            case 9: heap(); break;
            case 10: alloc_memory(); break;
            case 11: share(); break;
            default: event_data(); break;
        }
    }

    void root() {
        const bool large = chance(1, 2);
        const u32 file = chance(9, 10) ? 0 : static_cast<u32>(random_.below(files_.size()));
        Call call = begin(abi::NV_ESC_RM_ALLOC, large ? "NVOS64_PARAMETERS" : "NVOS21_PARAMETERS", file);
        put(call, "hClass", pick(std::array<u32, 3>{abi::NV01_ROOT, abi::NV01_ROOT_NON_PRIV, abi::NV01_ROOT_CLIENT}));
        Object object;
        object.kind = Kind::Client;
        object.symbol = symbols_++;
        object.client = static_cast<u32>(objects_.size());
        object.file = file;
        object.alive = files_[file] == Node::Control;
        call.step.defines = Step::Definition{place(call.type, "hObjectNew").offset, object.symbol};
        objects_.push_back(object);
        finish(call);
    }

    void alloc() {
        u32 total = 0;
        for (const ClassChoice& choice : kClasses) total += choice.weight;
        u64 draw = random_.below(total);
        std::size_t index = 0;
        while (draw >= kClasses[index].weight) draw -= kClasses[index++].weight;
        alloc(kClasses[index]);
    }

    void alloc(const ClassChoice& choice) {
        u32 parent = any(choice.parent);
        if (choice.kind == Kind::Memory && chance(1, 8)) parent = any(Kind::Subdevice);
        if (choice.kind == Kind::Channel && chance(1, 4)) parent = any(Kind::Device);
        if (choice.kind == Kind::Event && chance(1, 2)) parent = any(Kind::Channel) != kNone ? any(Kind::Channel) : parent;
        const u32 client = parent != kNone ? client_of(parent) : any(Kind::Client);
        const bool large = chance(2, 3);
        Call call = begin(abi::NV_ESC_RM_ALLOC, large ? "NVOS64_PARAMETERS" : "NVOS21_PARAMETERS", file_of(client));
        put_object(call, "hRoot", client);
        put_object(call, "hObjectParent", parent);
        Object object;
        object.kind = choice.kind;
        object.class_id = choice.class_id;
        object.parent = parent;
        object.client = client;
        object.file = file_of(client);
        object.alive = parent != kNone;
        if (chance(1, 8)) {
            object.symbol = symbols_++;
            call.step.defines = Step::Definition{place(call.type, "hObjectNew").offset, object.symbol};
        } else {
            object.handle = next_handle_++;
            put(call, "hObjectNew", object.handle);
        }
        if (choice.class_id != 0) put(call, "hClass", choice.class_id);
        else hole(call, 0, call.type, "hClass", Symbol::Class, static_cast<u32>(choice.chip));
        u32 params = kNone;
        if (!choice.params.empty() && (choice.required || chance(2, 3))) {
            params = add_block(call, rm::struct_bytes(version_, choice.params));
            fill_params(call, params, choice, object);
            hole(call, 0, call.type, "pAllocParms", Symbol::Pointer, params);
            if (chance(1, 2)) put(call, "paramsSize", call.step.blocks[params].bytes.size());
        }
        if (large && chance(1, 16)) {
            const u32 rights = add_block(call, 4);
            call.step.blocks[rights].bytes[0] = static_cast<u8>(random_.below(8));
            hole(call, 0, call.type, "pRightsRequested", Symbol::Pointer, rights);
        }
        const Spoil spoil = choose_spoil();
        const bool spoiled = spoil_alloc(call, spoil, params, object) || spoil_envelope(call, spoil);
        if (spoiled) object.alive = false;
        objects_.push_back(object);
        finish(call);
    }

    bool spoil_alloc(Call& call, Spoil spoil, u32 params, Object& object) {
        const u32 client = object.client;
        switch (spoil) {
            case Spoil::ClientZero: put_handle(call, "hRoot", 0); return true;
            case Spoil::ClientMadeUp: put_handle(call, "hRoot", kMadeUpHandle); return true;
            case Spoil::ClientOther:
                if (other_client(client) == kNone) return false;
                put_handle(call, "hRoot", 0);
                put_object(call, "hRoot", other_client(client));
                return true;
            case Spoil::ParentMadeUp: put_handle(call, "hObjectParent", kMadeUpHandle); return true;
            case Spoil::ParentOther: {
                const u32 other = any_object();
                if (other == kNone) return false;
                put_handle(call, "hObjectParent", 0);
                put_object(call, "hObjectParent", other);
                return true;
            }
            case Spoil::ObjectOther: {
                const u32 other = any_object();
                if (other == kNone || objects_[other].symbol != kNone) return false;
                call.step.defines.reset();
                put_handle(call, "hObjectNew", objects_[other].handle);
                return true;
            }
            case Spoil::ObjectMadeUp: {
                // A class that no driver has.
                const u32 id = pick(std::array<u32, 5>{0x1234, 0xFFFF'FFFF, 0x0001'90F1, 0x506F, 0x0003});
                put_handle(call, "hClass", id);
                return true;
            }
            case Spoil::Flags: put(call, "flags", random_.next()); return false;
            default: return params != kNone && spoil_params(call, spoil, "pAllocParms", "paramsSize", params);
        }
    }

    void fill_params(Call& call, u32 block, const ClassChoice& choice, Object& object) {
        const auto set = [&](std::string_view field, u64 value) { put(call, block, choice.params, field, value); };
        const auto link = [&](std::string_view field, u32 target) { put_object(call, block, choice.params, field, target); };
        switch (choice.kind) {
            case Kind::Device:
                set("deviceId", chance(9, 10) ? 0 : pick(std::array<u32, 3>{1, 31, 0xFFFF'FFFF}));
                if (chance(1, 3)) link("hClientShare", object.client);
                if (chance(1, 8)) set("vaMode", random_.below(4));
                return;
            case Kind::Subdevice: set("subDeviceId", chance(9, 10) ? 0 : pick(std::array<u32, 3>{1, 7, 0xFFFF'FFFF})); return;
            case Kind::VaSpace:
                set("index", chance(9, 10) ? 0 : random_.below(4));
                if (chance(1, 4)) set("vaBase", pick(std::array<u64, 3>{0x100000, 0x200000, 0x1}));
                return;
            case Kind::Memory: fill_memory(call, block, choice, object); return;
            case Kind::Event: {
                link("hParentClient", object.client);
                link("hSrcResource", object.parent);
                set("hClass", chance(9, 10) ? abi::NV01_EVENT_OS_EVENT : random_.below(0x100));
                set("notifyIndex", random_.below(chance(9, 10) ? 32 : 0x10000) | (chance(1, 2) ? 0x1000'0000 : 0));
                const u32 file = static_cast<u32>(random_.below(files_.size()));
                hole(call, block, choice.params, "data", Symbol::File, file);
                return;
            }
            case Kind::Group:
                if (chance(2, 3)) link("hVASpace", any(Kind::VaSpace));
                set("engineType", pick(std::array<u32, 4>{abi::NV2080_ENGINE_TYPE_GR0, abi::NV2080_ENGINE_TYPE_GR0,
                                                         abi::NV2080_ENGINE_TYPE_COPY0, 0xFFFF}));
                return;
            case Kind::ContextShare:
                link("hVASpace", any(Kind::VaSpace));
                set("flags", random_.below(3));
                return;
            case Kind::Channel: {
                const u32 memory = any(Kind::Memory);
                link("hObjectError", chance(2, 3) ? memory : kNone);
                set("gpFifoOffset", pick(std::array<u64, 3>{0x200000, 0x1'0000'0000, 0}));
                set("gpFifoEntries", pick(std::array<u32, 4>{32, 1024, 0, 33}));
                if (chance(1, 2)) link("hContextShare", any(Kind::ContextShare));
                if (chance(1, 3)) link("hVASpace", any(Kind::VaSpace));
                if (chance(3, 4)) link("hUserdMemory", any(Kind::Memory));
                set("engineType", chance(3, 4) ? abi::NV2080_ENGINE_TYPE_GR0 : abi::NV2080_ENGINE_TYPE_COPY0);
                return;
            }
            case Kind::Engine:
                set("version", random_.below(3));
                set("engineType", chance(1, 2) ? abi::NV2080_ENGINE_TYPE_COPY0 : random_.below(24));
                return;
            default: return;
        }
    }

    void fill_memory(Call& call, u32 block, const ClassChoice& choice, Object& object) {
        const auto set = [&](std::string_view field, u64 value) { put(call, block, choice.params, field, value); };
        object.bytes = pick(std::array<u64, 6>{0x1000, 0x10000, 0x200000, 0x1234, 0, 0xFFFF'FFFF'FFFF'0000});
        if (chance(2, 3)) object.bytes = pick(std::array<u64, 3>{0x1000, 0x10000, 0x200000});
        set("owner", 0x6A09'E667);
        set("type", chance(9, 10) ? abi::NVOS32_TYPE_IMAGE : random_.below(16));
        set("size", object.bytes);
        if (chance(1, 4)) set("alignment", pick(std::array<u64, 3>{0x1000, 0x10000, 3}));
        u32 attr = 0;
        if (choice.class_id == abi::NV01_MEMORY_SYSTEM && chance(7, 8)) {
            attr |= abi::NVOS32_ATTR_LOCATION::make(abi::NVOS32_ATTR_LOCATION_PCI);
        }
        if (chance(1, 2)) attr |= abi::NVOS32_ATTR_PAGE_SIZE::make(static_cast<u32>(random_.below(4)));
        if (chance(1, 3)) attr |= abi::NVOS32_ATTR_PHYSICALITY::make(static_cast<u32>(random_.below(4)));
        set("attr", attr);
        u64 flags = choice.class_id == abi::NV50_MEMORY_VIRTUAL ? abi::NVOS32_ALLOC_FLAGS_VIRTUAL : 0;
        if (chance(1, 12)) flags = random_.below(0x1000);
        set("flags", flags);
        if (chance(1, 8)) put_object(call, block, choice.params, "hVASpace", any(Kind::VaSpace));
    }

    void control() {
        const ControlChoice& choice = kControls[random_.below(std::size(kControls))];
        const u32 number = chance(15, 16) ? choice.id : choice.id ^ static_cast<u32>(1 + random_.below(0xFF));
        const u32 target = chance(7, 8) ? control_object(choice.id) : any_object();
        const u32 client = target != kNone ? client_of(target) : any(Kind::Client);
        Call call = begin(abi::NV_ESC_RM_CONTROL, "NVOS54_PARAMETERS", file_of(client));
        put_object(call, "hClient", client);
        put_object(call, "hObject", target);
        put(call, "cmd", number);
        const u32 bytes = rm::control_bytes(version_, choice.id).value_or(0);
        u32 params = kNone;
        if (bytes != 0) {
            params = add_block(call, bytes);
            std::vector<u8>& data = call.step.blocks[params].bytes;
            if (chance(1, 3)) {
                for (std::size_t i = 0; i < data.size() && i < 16; i += 4) data[i] = static_cast<u8>(random_.below(8));
            } else if (chance(1, 6)) {
                for (u8& byte : data) byte = static_cast<u8>(random_.next());
            }
            hole(call, 0, call.type, "params", Symbol::Pointer, params);
            put(call, "paramsSize", bytes);
        }
        const Spoil spoil = choose_spoil();
        switch (spoil) {
            case Spoil::ClientZero: put_handle(call, "hClient", 0); break;
            case Spoil::ClientMadeUp: put_handle(call, "hClient", kMadeUpHandle); break;
            case Spoil::ClientOther:
                if (client != kNone && other_client(client) != kNone) {
                    put_handle(call, "hClient", 0);
                    put_object(call, "hClient", other_client(client));
                }
                break;
            case Spoil::ObjectMadeUp: put_handle(call, "hObject", kMadeUpHandle); break;
            case Spoil::ObjectFreed:
            case Spoil::ObjectOther: {
                const u32 other = spoil == Spoil::ObjectFreed ? any_dead() : any_object();
                put_handle(call, "hObject", 0);
                put_object(call, "hObject", other);
                break;
            }
            case Spoil::Flags: put(call, "flags", random_.below(8)); break;
            case Spoil::ParentMadeUp: put(call, "cmd", 0); break;
            default:
                if (params == kNone || !spoil_params(call, spoil, "params", "paramsSize", params)) spoil_envelope(call, spoil);
        }
        finish(call);
    }
    u32 control_object(u32 id) {
        switch (id >> 16) {
            case 0x0000: return any(Kind::Client);
            case 0x0080: return any(Kind::Device);
            case 0x2080: return any(Kind::Subdevice);
            case 0x906F:
            case 0xC36F: return any(Kind::Channel);
            case 0xA06C: return any(Kind::Group);
            default: return any_object();
        }
    }

    void free() {
        const u32 target = any_object();
        if (target == kNone) return;
        const Object object = objects_[target];
        Call call = begin(abi::NV_ESC_RM_FREE, "NVOS00_PARAMETERS", object.file);
        put_object(call, "hRoot", object.client);
        if (chance(1, 2)) put_object(call, "hObjectParent", object.parent);
        put_object(call, "hObjectOld", target);
        const Spoil spoil = choose_spoil();
        bool spoiled = true;
        switch (spoil) {
            case Spoil::ClientZero: put_handle(call, "hRoot", 0); break;
            case Spoil::ClientMadeUp: put_handle(call, "hRoot", kMadeUpHandle); break;
            case Spoil::ObjectMadeUp: put_handle(call, "hObjectOld", kMadeUpHandle); break;
            case Spoil::ParentMadeUp:
                put_handle(call, "hObjectParent", kMadeUpHandle);
                spoiled = false;
                break;
            default: spoiled = spoil_envelope(call, spoil);
        }
        if (!spoiled) kill(target);
        finish(call);
    }

    void dup() {
        const u32 source = any_object();
        if (source == kNone) return;
        const u32 client = any(Kind::Client);
        Call call = begin(abi::NV_ESC_RM_DUP_OBJECT, "NVOS55_PARAMETERS", file_of(client));
        Object object = objects_[source];
        object.handle = next_handle_++;
        object.symbol = kNone;
        object.parent = object.kind == Kind::Memory || object.kind == Kind::VaSpace ? any(Kind::Device) : any_object();
        object.client = client;
        object.alive = objects_[source].alive && (object.kind == Kind::Memory || object.kind == Kind::VaSpace);
        put_object(call, "hClient", client);
        put_object(call, "hParent", object.parent);
        put(call, "hObject", object.handle);
        put_object(call, "hClientSrc", objects_[source].client);
        put_object(call, "hObjectSrc", source);
        put(call, "flags", chance(9, 10) ? 0 : random_.below(16));
        const Spoil spoil = choose_spoil();
        bool spoiled = true;
        switch (spoil) {
            case Spoil::ClientMadeUp: put_handle(call, "hClientSrc", kMadeUpHandle); break;
            case Spoil::ObjectMadeUp: put_handle(call, "hObjectSrc", kMadeUpHandle); break;
            case Spoil::ParentMadeUp: put_handle(call, "hParent", kMadeUpHandle); break;
            default: spoiled = spoil_envelope(call, spoil);
        }
        object.alive = object.alive && !spoiled;
        objects_.push_back(object);
        finish(call);
    }

    void share() {
        const u32 target = any_object();
        if (target == kNone) return;
        Call call = begin(abi::NV_ESC_RM_SHARE, "NVOS57_PARAMETERS", objects_[target].file);
        put_object(call, "hClient", objects_[target].client);
        put_object(call, "hObject", target);
        std::vector<u8>& bytes = call.step.blocks[0].bytes;
        const u32 policy = place(call.type, "sharePolicy").offset;
        bytes[policy + 4] = static_cast<u8>(random_.below(4));   // accessMask
        bytes[policy + 8] = static_cast<u8>(random_.below(10));  // type
        bytes[policy + 10] = static_cast<u8>(random_.below(4));  // action
        spoil_envelope(call, choose_spoil());
        finish(call);
    }

    void map_memory() {
        const u32 memory = any(Kind::Memory);
        if (memory == kNone) return;
        const Object& object = objects_[memory];
        const u32 file = open(object.class_id == abi::NV01_MEMORY_SYSTEM ? Node::Control : Node::Gpu);
        if (files_[file] == Node::Gpu && chance(7, 8)) register_file(file, object.file);
        Call call = begin(abi::NV_ESC_RM_MAP_MEMORY, "NVOS33_PARAMETERS", 56, object.file);
        put_object(call, "hClient", object.client);
        put_object(call, "hDevice", chance(3, 4) ? any(Kind::Device) : any(Kind::Subdevice));
        put_object(call, "hMemory", memory);
        put(call, "offset", chance(3, 4) ? 0 : pick(std::array<u64, 3>{0x1000, 0x123, ~u64{0}}));
        put(call, "length", chance(3, 4) ? object.bytes : pick(std::array<u64, 3>{0x1000, 0, ~u64{0}}));
        put(call, "flags", chance(3, 4) ? 0 : random_.below(4));
        call.step.holes.push_back({0, 48, 4, Symbol::File, file});
        const Spoil spoil = choose_spoil();
        switch (spoil) {
            case Spoil::ClientMadeUp: put_handle(call, "hClient", kMadeUpHandle); break;
            case Spoil::ObjectMadeUp: put_handle(call, "hMemory", kMadeUpHandle); break;
            case Spoil::ParentMadeUp: put_handle(call, "hDevice", kMadeUpHandle); break;
            case Spoil::ObjectOther:
                put_handle(call, "hMemory", 0);
                put_object(call, "hMemory", any_object());
                break;
            case Spoil::Flags: call.step.holes.back().index = 0; break;
            default: spoil_envelope(call, spoil);
        }
        finish(call);
    }

    void map_dma() {
        const u32 memory = any(Kind::Memory);
        u32 space = any(Kind::VaSpace);
        if (memory == kNone) return;
        for (u32 i = 0; i < objects_.size(); ++i) {
            if (objects_[i].alive && objects_[i].class_id == abi::NV50_MEMORY_VIRTUAL && chance(1, 2)) space = i;
        }
        Call call = begin(abi::NV_ESC_RM_MAP_MEMORY_DMA, "NVOS46_PARAMETERS", objects_[memory].file);
        put_object(call, "hClient", objects_[memory].client);
        put_object(call, "hDevice", any(Kind::Device));
        put_object(call, "hDma", space);
        put_object(call, "hMemory", memory);
        put(call, "offset", chance(7, 8) ? 0 : 0x1000);
        put(call, "length", chance(7, 8) ? objects_[memory].bytes : pick(std::array<u64, 3>{0x1000, 0, ~u64{0}}));
        const Spoil spoil = choose_spoil();
        switch (spoil) {
            case Spoil::ClientMadeUp: put_handle(call, "hClient", kMadeUpHandle); break;
            case Spoil::ObjectMadeUp: put_handle(call, "hMemory", kMadeUpHandle); break;
            case Spoil::ParentMadeUp: put_handle(call, "hDma", kMadeUpHandle); break;
            case Spoil::ParentOther: put_handle(call, "hDevice", kMadeUpHandle); break;
            default: spoil_envelope(call, spoil);
        }
        finish(call);
    }

    void os_event() {
        const u32 client = any(Kind::Client);
        const bool release = chance(1, 3);
        const u32 file = static_cast<u32>(random_.below(files_.size()));
        Call call = begin(release ? abi::NV_ESC_FREE_OS_EVENT : abi::NV_ESC_ALLOC_OS_EVENT,
                          release ? "nv_ioctl_free_os_event_t" : "nv_ioctl_alloc_os_event_t", file);
        put_object(call, "hClient", client);
        put_object(call, "hDevice", any(Kind::Device));
        hole(call, 0, call.type, "fd", Symbol::File, static_cast<u32>(random_.below(files_.size())));
        const Spoil spoil = choose_spoil();
        if (spoil == Spoil::ClientMadeUp) put_handle(call, "hClient", kMadeUpHandle);
        else spoil_envelope(call, spoil);
        finish(call);
    }

    void event_data() {
        const u32 file = static_cast<u32>(random_.below(files_.size()));
        Call call = begin(abi::NV_ESC_RM_GET_EVENT_DATA, "NVOS41_PARAMETERS", file);
        const u32 event = add_block(call, 16);
        if (chance(7, 8)) hole(call, 0, call.type, "pEvent", Symbol::Pointer, event);
        spoil_envelope(call, choose_spoil());
        finish(call);
    }

    void heap() {
        const u32 client = any(Kind::Client);
        Call call = begin(abi::NV_ESC_RM_VID_HEAP_CONTROL, "NVOS32_PARAMETERS", file_of(client));
        const u32 device = any(Kind::Device);
        put_object(call, "hRoot", client);
        put_object(call, "hObjectParent", device);
        const u32 memory = any(Kind::Memory);
        if (memory != kNone && chance(1, 3)) {
            put(call, "function", abi::NVOS32_FUNCTION_FREE);
            put(call, "data.Free.owner", 0x6A09'E667);
            put_object(call, "data.Free.hMemory", memory);
            if (!spoil_envelope(call, choose_spoil())) kill(memory);
            finish(call);
            return;
        }
        Object object;
        object.kind = Kind::Memory;
        object.class_id = abi::NV01_MEMORY_LOCAL_USER;
        object.handle = next_handle_++;
        object.parent = device;
        object.client = client;
        object.file = file_of(client);
        object.bytes = pick(std::array<u64, 4>{0x1000, 0x10000, 0x200000, 0});
        put(call, "function", chance(7, 8) ? abi::NVOS32_FUNCTION_ALLOC_SIZE : random_.below(40));
        put(call, "data.AllocSize.owner", 0x6A09'E667);
        put(call, "data.AllocSize.hMemory", object.handle);
        put(call, "data.AllocSize.type", abi::NVOS32_TYPE_IMAGE);
        put(call, "data.AllocSize.size", object.bytes);
        if (chance(1, 3)) put(call, "data.AllocSize.attr", abi::NVOS32_ATTR_LOCATION::make(abi::NVOS32_ATTR_LOCATION_PCI));
        object.alive = device != kNone && !spoil_envelope(call, choose_spoil());
        objects_.push_back(object);
        finish(call);
    }

    // On the GPU's own node: user pages as memory, or system memory with its mapping at once.
    void alloc_memory() {
        u32 gpu = kNone;
        for (u32 file = 0; file < files_.size(); ++file) {
            if (files_[file] == Node::Gpu) gpu = file;
        }
        const u32 client = any(Kind::Client);
        if (gpu == kNone || client == kNone) return;
        Call call = begin(abi::NV_ESC_RM_ALLOC_MEMORY, "NVOS02_PARAMETERS", 56, gpu);
        Object object;
        object.kind = Kind::Memory;
        object.class_id = abi::NV01_MEMORY_SYSTEM_OS_DESCRIPTOR;
        object.handle = next_handle_++;
        object.parent = any(Kind::Device);
        object.client = client;
        object.file = file_of(client);
        put_object(call, "hRoot", client);
        put_object(call, "hObjectParent", object.parent);
        put(call, "hObjectNew", object.handle);
        put(call, "hClass", object.class_id);
        if (chance(7, 8)) {
            put(call, "flags",
                abi::NVOS02_FLAGS_PHYSICALITY::make(abi::NVOS02_FLAGS_PHYSICALITY_NONCONTIGUOUS) |
                    abi::NVOS02_FLAGS_COHERENCY::make(abi::NVOS02_FLAGS_COHERENCY_CACHED) |
                    abi::NVOS02_FLAGS_MAPPING::make(abi::NVOS02_FLAGS_MAPPING_NO_MAP));
        }
        const u32 pages = add_block(call, 0x2000);
        hole(call, 0, call.type, "pMemory", Symbol::Pointer, pages);
        put(call, "limit", chance(3, 4) ? 0xFFF : pick(std::array<u64, 3>{0, 0x1FFF, ~u64{0}}));
        for (std::size_t i = 48; i < 52; ++i) call.step.blocks[0].bytes[i] = 0xFF;  // no descriptor
        const Spoil spoil = choose_spoil();
        object.alive = false;
        if (spoil == Spoil::ParamsUnmapped) call.step.blocks[pages].mapped = 0;
        else if (spoil == Spoil::ObjectMadeUp) put(call, "hClass", 0x1234);
        else if (spoil == Spoil::ClientMadeUp) put_handle(call, "hRoot", kMadeUpHandle);
        else object.alive = !spoil_envelope(call, spoil) && object.parent != kNone;
        objects_.push_back(object);
        finish(call);
    }

    void register_file(u32 file, u32 control) {
        Call call = begin(abi::NV_ESC_REGISTER_FD, "nv_ioctl_register_fd_t", file);
        call.step.holes.push_back({0, 0, 4, Symbol::File, control});
        finish(call);
    }

    void handshake() {
        switch (random_.below(4)) {
            case 0: {
                Call call = begin(abi::NV_ESC_CHECK_VERSION_STR, "nv_ioctl_rm_api_version_t", 0);
                put(call, "cmd", pick(std::array<u32, 4>{0, '1', '2', '9'}));
                const std::string_view text = pick(std::array<std::string_view, 3>{"1.2.3", "", "570.144"});
                const u32 offset = place(call.type, "versionString").offset;
                std::copy(text.begin(), text.end(), call.step.blocks[0].bytes.begin() + offset);
                spoil_envelope(call, choose_spoil());
                finish(call);
                return;
            }
            case 1: {
                const u32 cards = static_cast<u32>(random_.below(40));
                Call call = begin(abi::NV_ESC_CARD_INFO, "nv_ioctl_card_info_t", cards * 72, 0);
                spoil_envelope(call, cards == 0 ? Spoil::Nothing : choose_spoil());
                finish(call);
                return;
            }
            case 2: {
                const u32 file = static_cast<u32>(random_.below(files_.size()));
                register_file(file, static_cast<u32>(random_.below(files_.size())));
                return;
            }
            default: {
                Call call = begin(abi::NV_ESC_ATTACH_GPUS_TO_FD, "", 4 * static_cast<u32>(1 + random_.below(3)), 0);
                if (chance(3, 4)) call.step.holes.push_back({0, 0, 4, Symbol::GpuId, 0});
                else call.step.blocks[0].bytes[0] = 0x77;
                spoil_envelope(call, choose_spoil());
                finish(call);
                return;
            }
        }
    }

    const rm::DriverVersion& version_;
    sim::RandomStream random_;
    Sequence sequence_;
    std::vector<Node> files_;
    std::vector<Object> objects_;
    u32 symbols_ = 0;
    u32 next_handle_ = kFirstHandle;
};

}  // namespace

Sequence generate(u64 seed, const rm::DriverVersion& version) { return Generator(seed, version).make(); }

}  // namespace harness::conform
