// SPDX-License-Identifier: Apache-2.0
#include <cohort/training/detail/scoped_consensus.hpp>
#include <cstddef>

namespace cohort::detail {

scoped_consensus::scoped_consensus(strategy& exchange_strategy, replica const& mine, int arrays,
                                   bool averages)
    : mine_(mine) {
  arena_passes& passes = mine.parameters.passes();
  std::byte const* const average = averages ? mine.update.average() : nullptr;
  if (average) arrays = mine.arrays();
  if (exchange_strategy.diverged()) replace(exchange_strategy, arrays);
  if (!average) return;
  if (saved_.empty()) save(0);
  std::size_t const width = bytes_of(mine.parameters.type());
  for (parameter const& tensor : mine.parameters.table())
    if (tensor.trains())
      passes.copy(average + tensor.offset * width, mine.parameters.master() + tensor.offset * width,
                  tensor.room * width);
  mine.parameters.mark_changed();
}

void scoped_consensus::save(int array) {
  arena_passes& passes = mine_.parameters.passes();
  buffer const& saved = saved_.emplace_back(mine_.parameters.arena_bytes(), passes.space());
  passes.copy(mine_.arena(array), saved.data(), saved.bytes());
}

void scoped_consensus::replace(strategy& exchange_strategy, int arrays) {
  std::vector<buffer> consensus;
  std::vector<std::byte*> dense;
  for (int array = 0; array < arrays; ++array) dense.push_back(consensus.emplace_back(mine_.bytes()).data());
  exchange_strategy.consensus(mine_, dense);
  for (int array = 0; array < arrays; ++array) save(array);  // before the first change: it may throw
  for (int array = 0; array < arrays; ++array) mine_.write(array, dense[static_cast<std::size_t>(array)]);
  mine_.parameters.mark_changed();
}

scoped_consensus::~scoped_consensus() {
  if (saved_.empty()) return;
  for (std::size_t array = 0; array < saved_.size(); ++array)
    mine_.parameters.passes().copy(saved_[array].data(), mine_.arena(static_cast<int>(array)),
                                   saved_[array].bytes());
  mine_.parameters.mark_changed();
}

}  // namespace cohort::detail
