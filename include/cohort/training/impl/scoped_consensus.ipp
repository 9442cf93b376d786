// SPDX-License-Identifier: Apache-2.0
#include <cohort/training/detail/scoped_consensus.hpp>
#include <cstddef>

namespace cohort::detail {

scoped_consensus::scoped_consensus(strategy& exchange_strategy, replica const& mine, int arrays)
    : mine_(mine) {
  if (!exchange_strategy.diverged()) return;
  std::vector<buffer> consensus;
  std::vector<std::byte*> dense;
  for (int array = 0; array < arrays; ++array) dense.push_back(consensus.emplace_back(mine.bytes()).data());
  exchange_strategy.consensus(mine, dense);
  arena_passes& passes = mine.parameters.passes();
  for (int array = 0; array < arrays;
       ++array) {  // all copies precede the first change, because an allocation may fail
    buffer const& saved = saved_.emplace_back(mine.parameters.arena_bytes(), passes.space());
    passes.copy(mine.arena(array), saved.data(), saved.bytes());
  }
  for (int array = 0; array < arrays; ++array) mine.write(array, dense[static_cast<std::size_t>(array)]);
  mine.parameters.mark_changed();
}

scoped_consensus::~scoped_consensus() {
  if (saved_.empty()) return;
  for (std::size_t array = 0; array < saved_.size(); ++array)
    mine_.parameters.passes().copy(saved_[array].data(), mine_.arena(static_cast<int>(array)),
                                   saved_[array].bytes());
  mine_.parameters.mark_changed();
}

}  // namespace cohort::detail
