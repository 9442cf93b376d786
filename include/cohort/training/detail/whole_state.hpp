// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/tensor/buffer.hpp>
#include <cohort/training/detail/training_state.hpp>
#include <cstddef>
#include <span>
#include <vector>

namespace cohort::detail {

/// The state arrays of the optimizers as whole arenas. If the state is sharded, the shards of all ranks are
/// copied to new arenas on rank 0, or on all ranks.
///
/// Order     the constructor is collective if the state is sharded.
class whole_state {
 public:
  whole_state(training_state& run, bool on_all_ranks);
  /// One arena for each state array; empty on a rank that got no copies.
  std::span<std::byte* const> arrays() const { return arrays_; }

 private:
  std::vector<buffer> copies_;
  std::vector<std::byte*> arrays_;
};

}  // namespace cohort::detail
