// Texture and surface operations: known by name, refused when they are reached.
#include "gpu_model/sm/exec/operations.h"

namespace gpu::sm {
namespace {

void refuse(Exec& x, Slot& s) {
    x.trap(s, TrapReason::UNMODELLED, x.lanes, 0, std::string(s.in.row().text));
}

}  // namespace

void op_tex(Exec& x, Slot& s) {
    refuse(x, s);
}
void op_tld(Exec& x, Slot& s) {
    refuse(x, s);
}
void op_tld4(Exec& x, Slot& s) {
    refuse(x, s);
}
void op_txd(Exec& x, Slot& s) {
    refuse(x, s);
}
void op_txq(Exec& x, Slot& s) {
    refuse(x, s);
}
void op_suld(Exec& x, Slot& s) {
    refuse(x, s);
}
void op_sust(Exec& x, Slot& s) {
    refuse(x, s);
}
void op_sured(Exec& x, Slot& s) {
    refuse(x, s);
}

}  // namespace gpu::sm
