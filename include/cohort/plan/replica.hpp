// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/plan/parameter_update.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cstddef>
#include <vector>

namespace cohort {

/// What one rank has of a network in training: its parameters and what its updaters remember.
struct replica {
  parameter_set& parameters;
  parameter_update& update;

  std::size_t bytes() const {
    return static_cast<std::size_t>(parameters.elements()) * bytes_of(parameters.type());
  }
  int arrays() const { return 1 + update.state_arrays(); }
  /// Array 0 are the parameters, array k+1 the updaters' k-th state: an arena.
  std::byte* arena(int array) const { return array == 0 ? parameters.master() : update.state(array - 1); }
  /// An array to dense canonical elements, and back. Who writes says so by parameters.changed().
  void read(int array, std::byte* dense) const { parameters.read_all(arena(array), dense); }
  void write(int array, std::byte const* dense) const { parameters.write_all(dense, arena(array)); }
  /// Puts this rank's own elements of frozen parameters in their places of a dense array: a mean would round them.
  void keep_frozen(int array, std::byte* dense) const {
    for (int p = 0; p < static_cast<int>(parameters.table().size()); ++p)
      if (parameter const& one = parameters.table()[static_cast<std::size_t>(p)]; one.frozen)
        parameters.read(p, arena(array),
                        dense + static_cast<std::size_t>(one.first) * bytes_of(parameters.type()));
  }
};

}  // namespace cohort
