// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/execution/isa.hpp>
#include <cohort/layer/detail/attention_host.hpp>
#include <cstddef>

namespace cohort::detail {

/// Passes over one head of one example in f32, in blocks of queries.
///
/// Before    scratch: attention_scratch elements, aligned to 64 bytes. backward: the gradients of the inputs
///           are 0; heads of one call have disjoint columns, so threads may share the heads among themselves.
/// Exact     a head's numbers depend on the instruction set only.
/// Source    Dao et al., "FlashAttention", NeurIPS 2022: backward computes the probabilities again.
struct attention_passes {
  void (*forward)(attention_sizes const& s, host_arguments<float> const& a, int example, int head,
                  float* scratch) = nullptr;
  void (*backward)(attention_sizes const& s, host_arguments<float> const& a, int example, int head,
                   float* scratch) = nullptr;
};

/// Returns the passes for an instruction set, which is at most machine_isa().
attention_passes attention_passes_of(isa which);

/// Returns the number of elements that a thread needs.
std::size_t attention_scratch(attention_sizes const& s, bool backward);

/// Queries that are processed together.
inline constexpr int attention_block = 48;

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/layer/impl/attention_simd.ipp>
#endif
