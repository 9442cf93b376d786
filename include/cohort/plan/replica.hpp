// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/plan/parameter_update.hpp>
#include <cstddef>

namespace cohort {

/// What one rank has of a network in training: its parameters and what its updaters remember.
struct replica {
  parameter_set& parameters;
  parameter_update& update;

  std::size_t bytes() const;
  int arrays() const { return 1 + update.state_arrays(); }
  /// Array 0 are the parameters, array k+1 the updaters' k-th state: an arena.
  std::byte* arena(int array) const { return array == 0 ? parameters.master() : update.state(array - 1); }
  /// An array to dense canonical elements, and back. Who writes says so by parameters.changed().
  void read(int array, std::byte* dense) const { parameters.read_all(arena(array), dense); }
  void write(int array, std::byte const* dense) const { parameters.write_all(dense, arena(array)); }
  /// Puts this rank's own elements of frozen parameters in their places of a dense array: a mean would round them.
  void keep_frozen(int array, std::byte* dense) const;
};

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/plan/impl/replica.ipp>
#endif
