// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/config.hpp>
#include <cohort/trainer/detail/scoped_consensus.hpp>
#include <cstddef>

namespace cohort::detail {

COHORT_CORE_INLINE scoped_consensus::scoped_consensus(strategy& agree, replica const& mine, int arrays)
    : mine_(mine) {
  if (!agree.diverged()) return;
  std::vector<buffer> merged;
  std::vector<std::byte*> dense;
  for (int array = 0; array < arrays; ++array) dense.push_back(merged.emplace_back(mine.bytes()).data());
  agree.consensus(mine, dense);
  for (int array = 0; array < arrays; ++array) {
    arena_passes& passes = mine.parameters.passes();
    buffer const& own = own_.emplace_back(mine.parameters.arena_bytes(), passes.space());
    passes.copy(mine.arena(array), own.data(), own.bytes());
    mine.write(array, dense[static_cast<std::size_t>(array)]);
  }
  mine.parameters.changed();
}

COHORT_CORE_INLINE scoped_consensus::~scoped_consensus() {
  if (own_.empty()) return;
  for (std::size_t array = 0; array < own_.size(); ++array)
    mine_.parameters.passes().copy(own_[array].data(), mine_.arena(static_cast<int>(array)),
                                   own_[array].bytes());
  mine_.parameters.changed();
}

}  // namespace cohort::detail
