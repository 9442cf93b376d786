// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <cohort/plan/parameter_set.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cohort::detail {

/// Returns a hash of the bits of each parameter. `in_place` hashes the parameter's part of the arena, padding
/// included; such hashes are comparable only between ranks of one layout. Otherwise hashes the dense tensor.
///
/// Cost      reads the parameters once. With `in_place`, copies nothing on the processor, and pieces of 4 MiB
///           from a device; otherwise, copies one parameter at a time.
std::vector<std::uint64_t> parameter_hashes(parameter_set const& parameters, bool in_place);

/// Ranks whose parameters differ.
struct divergence {
  std::size_t parameter = 0;  ///< index of the first parameter that differs
  std::vector<int> most{};    ///< the largest group of ranks with equal parameters, or the first of several
  std::vector<int> others{};  ///< all other ranks
};

/// Compares parameter_hashes of all ranks.
///
/// Before    at least one hash differs between ranks.
divergence find_divergence(gathered const& hashes, int ranks);

/// Returns a text such as "rank 3" or "ranks 0, 1, 4". Lists at most 16 ranks, then adds " and 12 more".
std::string text_of_ranks(std::span<int const> ranks);

}  // namespace cohort::detail
