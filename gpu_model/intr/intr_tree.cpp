// See intr_tree.h. Order that matters: a source is first latched, then judged; a message leaves only when something
// that was quiet becomes pending, or when software re-arms while something still is. Without the second rule a bit that
// arrives between software's read of TOP and its rewrite of TOP_EN_SET would never be announced.
#include "gpu_model/intr/intr_tree.h"

#include "gpu_model/intr/intr_vectors.h"
#include "sim/check.h"

namespace gpu {

namespace {

constexpr u32 kBitsPerLeaf = 32;

constexpr u32 bit_of(u32 number) { return u32{1} << (number % kBitsPerLeaf); }

const IntrVector* find_vector(u32 number) {
    for (const IntrVector& row : kIntrVectors) {
        if (row.vector == number) return &row;
    }
    return nullptr;
}

}  // namespace

IntrTree::IntrTree(sim::Kernel& kernel, MessagePort& port) : kernel_(kernel), port_(port) {}

void IntrTree::pulse(u32 vector) {
    SIM_CHECK(vector < kVectors, vector);
    leaf_[vector / kBitsPerLeaf] |= bit_of(vector);
    const IntrVector* row = find_vector(vector);
    if (row != nullptr && row->pmc_index != kNotInPmc) pmc_latched_[row->pmc_index] |= bit_of(row->pmc_bit);
    evaluate(Send::OnRise);
}

void IntrTree::set_level(u32 vector, bool asserted) {
    SIM_CHECK(vector < kVectors, vector);
    u32& level = level_[vector / kBitsPerLeaf];
    bool rises = asserted && (level & bit_of(vector)) == 0;
    if (asserted) {
        level |= bit_of(vector);
        leaf_[vector / kBitsPerLeaf] |= bit_of(vector);
    } else {
        level &= ~bit_of(vector);  // the latched leaf bit stays until software clears it
    }
    evaluate(Send::OnRise);
    if (rises && level_listener_ != nullptr) level_listener_->on_level(vector);
}

void IntrTree::trigger(u32 vector) {
    if (vector < kVectors) pulse(vector);
}

u32 IntrTree::read_leaf(unsigned leaf) const { return leaf_.at(leaf); }

void IntrTree::clear_leaf(unsigned leaf, u32 bits) {
    leaf_.at(leaf) = (leaf_[leaf] & ~bits) | level_[leaf];
    evaluate(Send::Again);
}

u32 IntrTree::read_leaf_enable(unsigned leaf) const { return leaf_enable_.at(leaf); }

void IntrTree::set_leaf_enable(unsigned leaf, u32 bits) {
    leaf_enable_.at(leaf) |= bits;
    evaluate(Send::Again);
}

void IntrTree::clear_leaf_enable(unsigned leaf, u32 bits) {
    leaf_enable_.at(leaf) &= ~bits;
    evaluate(Send::OnRise);
}

u32 IntrTree::read_top() const {
    u32 top = 0;
    for (unsigned leaf = 0; leaf < kLeaves; ++leaf) {
        if ((leaf_[leaf] & leaf_enable_[leaf]) != 0) top |= bit_of(leaf / kLeavesPerSubtree);
    }
    return top;
}

u32 IntrTree::read_top_enable() const { return top_enable_; }

void IntrTree::set_top_enable(u32 bits) {
    top_enable_ |= bits;
    evaluate(Send::Again);
}

void IntrTree::clear_top_enable(u32 bits) {
    top_enable_ &= ~bits;
    evaluate(Send::OnRise);
}

u32 IntrTree::read_pmc(unsigned index) const {
    u32 word = pmc_latched_.at(index);
    for (const IntrVector& row : kIntrVectors) {
        if (row.kind != IntrKind::Level || row.pmc_index != index) continue;
        if ((level_[row.vector / kBitsPerLeaf] & bit_of(row.vector)) != 0) word |= bit_of(row.pmc_bit);
    }
    return word;
}

void IntrTree::clear_pmc(unsigned index, u32 bits) {
    pmc_latched_.at(index) &= ~bits;
    evaluate(Send::Again);
}

u32 IntrTree::read_pmc_enable(unsigned index) const { return pmc_enable_.at(index); }

void IntrTree::set_pmc_enable(unsigned index, u32 bits) {
    pmc_enable_.at(index) |= bits;
    evaluate(Send::Again);
}

void IntrTree::clear_pmc_enable(unsigned index, u32 bits) {
    pmc_enable_.at(index) &= ~bits;
    evaluate(Send::OnRise);
}

bool IntrTree::pending() const {
    if ((read_top() & top_enable_) != 0) return true;
    for (unsigned i = 0; i < kPmcWords; ++i) {
        if (pmc_enable_[i] != 0 && (read_pmc(i) & pmc_enable_[i]) != 0) return true;
    }
    return false;
}

void IntrTree::evaluate(Send send) {
    bool before = output_;
    output_ = pending();
    if (!output_ || (before && send == Send::OnRise)) return;
    if (before) SIM_PROBE(kernel_, "intr.retrigger");
    port_.raise_message();
}

void IntrTree::visit(sim::StateVisitor& visitor) {
    visitor.field("leaf", leaf_);
    visitor.field("level", level_);
    visitor.field("leaf_enable", leaf_enable_);
    visitor.field("top_enable", top_enable_);
    visitor.field("pmc_latched", pmc_latched_);
    visitor.field("pmc_enable", pmc_enable_);
    visitor.field("output", output_);
}

void IntrTree::reset() {
    leaf_ = {};
    level_ = {};
    leaf_enable_ = {};
    top_enable_ = 0;
    pmc_latched_ = {};
    pmc_enable_ = {};
    output_ = false;
}

}  // namespace gpu
