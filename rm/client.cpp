// The public face of the kernel driver's half.
#include "rm/client.h"

#include "rm/client/driver.h"

namespace rm {

struct Client::Impl {
    client::Driver driver;
};

Client::Client(sim::Kernel& kernel, const DriverVersion& version, gpu::PciDevice& device, HostServices& host,
               ClientOptions options)
    : impl_(new Impl{client::Driver(kernel, version, device, host, options)}) {}

Client::~Client() = default;

DriverSurface& Client::surface() {
    return impl_->driver;
}

void Client::interrupt(u16 data) {
    impl_->driver.interrupt(data);
}

void Client::visit(sim::StateVisitor& visitor) {
    impl_->driver.visit(visitor);
}

}  // namespace rm
