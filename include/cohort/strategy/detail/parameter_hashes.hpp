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

/// Returns a hash of the bits of each parameter. `in_place`: of its part of the arena, padding included,
/// which only ranks of one layout can compare; otherwise of the dense tensor.
///
/// Cost      reads the parameters once. In place on the processor, it copies nothing; from a device, it
///           copies pieces of 4 MiB; otherwise one parameter at a time.
std::vector<std::uint64_t> parameter_hashes(parameter_set const& parameters, bool in_place);

/// Ranks whose parameters differ.
struct divergence {
  std::size_t parameter = 0;  ///< the first one that differs
  std::vector<int> most{};  ///< ranks of the largest group with equal parameters; of equal groups, the first
  std::vector<int> others{};  ///< all other ranks
};

/// Compares parameter_hashes of all ranks.
///
/// Before    a hash differs.
divergence find_divergence(gathered const& hashes, int ranks);

/// "rank 3", "ranks 0, 1, 4 and 12 more"
std::string text_of_ranks(std::span<int const> ranks);

}  // namespace cohort::detail
