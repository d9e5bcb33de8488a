// The handler table as data for people.
#include "rm/uvm_facts.h"

#include "rm/abi/ioctls.h"
#include "rm/client/uvm/uvm.h"

namespace rm {

std::vector<UvmFact> uvm_facts() {
    std::vector<UvmFact> out;
    for (const client::uvm::HandlerRow& row : client::uvm::handler_rows()) {
        const abi::IoctlRow* known = abi::find_uvm_ioctl(row.number);
        UvmFact fact;
        fact.number = row.number;
        fact.name = row.name;
        fact.node = row.node == client::uvm::NodeKind::Uvm ? client::uvm::kUvmNode : client::uvm::kUvmToolsNode;
        fact.type = known->type;
        fact.bytes = known->bytes;
        fact.needs_initialize = row.initialized == client::uvm::Initialized::Needed;
        fact.rung = row.rung;
        fact.source = row.source;
        out.push_back(fact);
    }
    return out;
}

}  // namespace rm
