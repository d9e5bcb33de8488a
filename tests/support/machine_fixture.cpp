// The process of MachineFixture: its memory, its calls.
#include "tests/support/machine_fixture.h"

#include <algorithm>

namespace test {

u64 UserSpace::map(u64 bytes) {
    u64 address = next_;
    for (u64 done = 0; done < bytes || done == 0; done += kPage) pages_[(address + done) / kPage].assign(kPage, 0);
    next_ = (address + std::max<u64>(bytes, 1) + kPage - 1) / kPage * kPage + kPage;
    return address;
}

bool UserSpace::read(u64 address, std::span<u8> out) {
    for (u64 i = 0; i < out.size();) {
        auto page = pages_.find((address + i) / kPage);
        if (page == pages_.end()) return false;
        u64 offset = (address + i) % kPage;
        u64 piece = std::min<u64>(out.size() - i, kPage - offset);
        std::copy_n(page->second.begin() + static_cast<std::ptrdiff_t>(offset), piece,
                    out.begin() + static_cast<std::ptrdiff_t>(i));
        i += piece;
    }
    return true;
}

bool UserSpace::write(u64 address, std::span<const u8> bytes) {
    for (u64 i = 0; i < bytes.size();) {
        auto page = pages_.find((address + i) / kPage);
        if (page == pages_.end()) return false;
        u64 offset = (address + i) % kPage;
        u64 piece = std::min<u64>(bytes.size() - i, kPage - offset);
        std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(i), piece,
                    page->second.begin() + static_cast<std::ptrdiff_t>(offset));
        i += piece;
    }
    return true;
}

MachineFixture::MachineFixture(harness::MachineOptions options) : machine(options) {
    machine.kernel().journal().add_sink(*this);
}

MachineFixture::~MachineFixture() {
    machine.kernel().journal().remove_sink(*this);
}

void MachineFixture::run(const std::function<void()>& body) {
    sim::FiberId fiber = machine.kernel().fibers().spawn("test process", sim::Phase::Guest, body);
    sim::Kernel::RunResult result = machine.kernel().run(machine.kernel().now() + SimTime::from_s(60));
    for (const std::string& note : notes) INFO(note);
    INFO(result.text);
    INFO(machine.kernel().fibers().describe_suspended());
    REQUIRE(machine.kernel().fibers().finished(fiber));
}

u32 MachineFixture::request_word(u32 number, u64 bytes) {
    u32 word = abi::IOC_DIR::make(3) | abi::IOC_TYPE::make(abi::NV_IOCTL_MAGIC) | abi::IOC_NR::make(number);
    return abi::IOC_SIZE::set(word, bytes);
}

i64 MachineFixture::open(std::string_view path, int fd) {
    return driver().open(caller, fd, path, 2);
}

u32 MachineFixture::alloc_root() {
    abi::NVOS21_PARAMETERS params{};
    params.hClass = abi::NV01_ROOT_CLIENT;
    REQUIRE(escape(control_fd, abi::NV_ESC_RM_ALLOC, params) == 0);
    REQUIRE(params.status == abi::NV_OK);
    return params.hObjectNew;
}

u32 MachineFixture::alloc(u32 parent, u32 object, u32 class_id, u64 address, u32 params_size) {
    abi::NVOS21_PARAMETERS params{};
    params.hRoot = client;
    params.hObjectParent = parent;
    params.hObjectNew = object;
    params.hClass = class_id;
    params.pAllocParms = address;
    params.paramsSize = params_size;
    REQUIRE(escape(control_fd, abi::NV_ESC_RM_ALLOC, params) == 0);
    return params.status;
}

bool MachineFixture::exists(u32 object) {
    std::vector<u8> params(16);
    u64 address = user.map(params.size());
    return control(object, abi::NV2080_CTRL_CMD_MC_GET_ARCH_INFO, address, 16) != abi::NV_ERR_OBJECT_NOT_FOUND;
}

u32 MachineFixture::free(u32 object) {
    abi::NVOS00_PARAMETERS params{};
    params.hRoot = client;
    params.hObjectOld = object;
    REQUIRE(escape(control_fd, abi::NV_ESC_RM_FREE, params) == 0);
    return params.status;
}

u32 MachineFixture::control(u32 object, u32 cmd, u64 address, u32 bytes) {
    abi::NVOS54_PARAMETERS params{};
    params.hClient = client;
    params.hObject = object;
    params.cmd = cmd;
    params.params = address;
    params.paramsSize = bytes;
    REQUIRE(escape(control_fd, abi::NV_ESC_RM_CONTROL, params) == 0);
    return params.status;
}

rm::Mapping MachineFixture::map_memory(u32 device, u32 memory, u64 offset, u64 length, int fd, std::string_view node) {
    struct {
        abi::NVOS33_PARAMETERS params;
        i32 fd;
        u32 pad;
    } with_fd{};
    REQUIRE(open(node, fd) == 0);
    with_fd.params.hClient = client;
    with_fd.params.hDevice = device;
    with_fd.params.hMemory = memory;
    with_fd.params.offset = offset;
    with_fd.params.length = length;
    with_fd.fd = fd;
    REQUIRE(escape(control_fd, abi::NV_ESC_RM_MAP_MEMORY, with_fd) == 0);
    REQUIRE(with_fd.params.status == abi::NV_OK);
    constexpr u32 kReadWrite = 3, kShared = 1;
    return driver().mmap(caller, fd, 0x7F0000000000, length, kReadWrite, kShared, 0);
}

void MachineFixture::bring_up() {
    REQUIRE(open("/dev/nvidiactl", control_fd) == 0);
    REQUIRE(open("/dev/nvidia0", gpu_fd) == 0);
    abi::nv_ioctl_register_fd_t tie{static_cast<u32>(control_fd)};
    REQUIRE(escape(gpu_fd, abi::NV_ESC_REGISTER_FD, tie) == 0);
    client = alloc_root();
    abi::NV0080_ALLOC_PARAMETERS device{};
    device.hClientShare = client;
    REQUIRE(alloc_with(client, kDevice, abi::NV01_DEVICE_0, device) == abi::NV_OK);
    abi::NV2080_ALLOC_PARAMETERS subdevice{};
    REQUIRE(alloc_with(kDevice, kSubdevice, abi::NV20_SUBDEVICE_0, subdevice) == abi::NV_OK);
}

bool MachineFixture::noted(std::string_view text) const {
    return std::any_of(notes.begin(), notes.end(),
                       [text](const std::string& note) { return note.find(text) != std::string::npos; });
}

void MachineFixture::on_record(const sim::JournalRecord&, std::span<const u8>) {}

void MachineFixture::on_note(SimTime, std::string_view text) {
    notes.emplace_back(text);
}

}  // namespace test
