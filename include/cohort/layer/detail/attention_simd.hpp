// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/execution/isa.hpp>
#include <cohort/layer/detail/attention_sizes.hpp>
#include <cohort/layer/host_kernel.hpp>
#include <cstddef>

namespace cohort::detail {

/// Tensors of a call of attention_passes, with elements of f32 or bf16.
///
/// Shapes    as the layer's. `workspace`: the log-sum-exp of the scores of each query and head, f32; null at
///           inference.
/// `mask`    of the keys; null: no key is masked
/// `diff_inputs`   null: this gradient is not computed
struct attention_call {
  void const* inputs[3]{};
  void* output = nullptr;
  float* workspace = nullptr;
  step_mask const* mask = nullptr;
  void const* diff_output = nullptr;
  void* diff_inputs[3]{};
};

/// Passes over one head of one example, in blocks of queries. They compute in f32.
///
/// Before    scratch: attention_scratch floats, aligned to 64 bytes.
/// After     the head's columns of the gradients are written (by `backward`). Heads have disjoint columns, so
///           different threads may process different heads of a call at the same time.
/// Exact     the bits of a head's results depend on the instruction set, not on the number of threads.
/// Source    Dao et al., "FlashAttention", NeurIPS 2022: backward recomputes the probabilities.
struct attention_passes {
  using pass = void (*)(attention_sizes const& s, attention_call const& a, int example, int head,
                        float* scratch);
  pass forward = nullptr;
  pass backward = nullptr;
};

/// Returns the passes of an instruction set; if `narrow`, for bf16.  Before: `which` ≤ machine_isa().
attention_passes attention_passes_of(isa which, bool narrow = false);

/// Returns the number of floats of scratch memory per thread.
std::size_t attention_scratch(attention_sizes const& s, bool backward);

/// Number of queries that are processed together.
inline constexpr int attention_block = 48;

}  // namespace cohort::detail
