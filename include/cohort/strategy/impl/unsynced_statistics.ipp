// SPDX-License-Identifier: Apache-2.0
#include <cohort/strategy/detail/saved_values.hpp>
#include <cohort/strategy/detail/unsynced_statistics.hpp>
#include <cohort/strategy/merge_statistics.hpp>
#include <cohort/tensor/buffer.hpp>

namespace cohort::detail {

bool has_statistics(parameter_set const& parameters) {
  bool any = false;
  for_each_statistic(parameters, [&](int, parameter const&) { any = true; });
  return any;
}

void unsynced_statistics::add_step(int examples) {
  ++steps_;
  seen_ += examples;
}

void unsynced_statistics::average(communicator& world, replica const& mine, std::byte* dense) const {
  merge_running_statistics(world, mine, static_cast<double>(seen_), dense, parameters_in::dense);
}

void unsynced_statistics::synchronise(communicator& world, replica const& mine) {
  buffer const dense(mine.bytes());
  mine.read(0, dense.data());
  average(world, mine, dense.data());
  for_each_statistic(mine.parameters, [&](int p, parameter const& one) {
    mine.parameters.write(
        p, dense.data() + static_cast<std::size_t>(one.first) * bytes_of(mine.parameters.type()),
        mine.parameters.master());
  });
  mine.parameters.mark_changed();
  reset();
}

void unsynced_statistics::save(strategy_state& to) const {
  to.counts.insert(to.counts.end(), {{"unsynced statistics", steps_}, {"seen", seen_}});
}

void unsynced_statistics::restore(strategy_state const& saved) {
  steps_ = count_of(saved, "unsynced statistics", 0);
  seen_ = count_of(saved, "seen", 0);
}

}  // namespace cohort::detail
