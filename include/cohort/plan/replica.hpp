// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/plan/parameter_update.hpp>
#include <cstddef>

namespace cohort {

/// Training state of a network on one rank: parameters and optimizer state.
struct replica {
  parameter_set& parameters;
  parameter_update& update;

  /// Size in bytes of one array as dense canonical elements.
  std::size_t bytes() const;
  int arrays() const { return 1 + update.state_arrays(); }
  /// Arena of an array. Array 0: the parameters. Array k + 1: the k-th state array of the optimizers.
  std::byte* arena(int array) const { return array == 0 ? parameters.master() : update.state(array - 1); }
  /// Returns whether this rank has the whole array, not only a shard's elements, which read and write cannot
  /// copy.
  bool is_whole(int array) const { return array == 0 || update.is_whole(array - 1); }
  /// Copies an array to dense canonical elements, and back. After a write, call parameters.mark_changed().
  void read(int array, std::byte* dense) const { parameters.read_all(arena(array), dense); }
  void write(int array, std::byte const* dense) const { parameters.write_all(dense, arena(array)); }
  /// Restores the frozen parameters in a dense mean to this rank's values, because averaging may round them.
  void restore_frozen(int array, std::byte* dense) const;
};

}  // namespace cohort
