// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/execution/partition.hpp>
#include <cohort/tensor/element.hpp>
#include <cstddef>
#include <vector>

namespace cohort {

namespace detail {

/// The bounds of parts are multiples of this number of elements: a block of norms, see arena_passes::chunk.
inline constexpr std::size_t block_of_parts = 4096;

}  // namespace detail

/// Returns the parts of an allreduce of `count` elements whose result a rank computes: the same on every rank
/// and over every transport. Empty if the elements have no parts, because every rank computes the whole
/// result.
///
/// Shapes    disjoint slices in ascending order; bounds are multiples of 4,096 elements or the end.
std::vector<index_slice> parts_of_allreduce(element_type type, std::size_t count, int rank, int ranks);

}  // namespace cohort
