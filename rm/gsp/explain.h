// Why the firmware answered a request with an error, for people: which field broke which rule, what would have been right, and where
// the rule stands. Read from request and object tree after the fact; answers never depend on it.
#pragma once

#include <span>
#include <string>

#include "rm/gsp/object_tree.h"
#include "rm/versions.h"

namespace rm::gsp {

struct ControlHead;

struct Failure {
    const DriverVersion& version;
    const ObjectTree& objects;  // as the request left it
    const ControlHead& control_head;
    u32 function = 0;
    std::span<const u8> payload;  // with allocation parameters behind it
    u32 status = 0;
};

// Empty: the status says all there is (what nobody models is in the run's list by name).
std::string explain(const Failure& failure);

}  // namespace rm::gsp
