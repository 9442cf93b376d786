// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cohort/communicator/detail/task.hpp>
#include <cstddef>
#include <cstdint>

namespace cohort::detail {

/// Algorithm of an allreduce.
enum class allreduce_algorithm : std::uint8_t { ring, halving, doubling };

/// Chooses the algorithm from the bytes and the number of ranks only, so that all ranks choose the same
/// algorithm, over any transport.
///
/// The bounds are measured (allreduce_algorithms_benchmark). Below the first bound, rounds cost more than
/// bytes. Above the second one, the even load of a ring's links matters more; this bound is lower if halving
/// has to fold ranks.
constexpr allreduce_algorithm choose_allreduce_algorithm(std::size_t bytes, int ranks) {
  constexpr std::size_t kib = 1024;
  std::size_t const halved = std::has_single_bit(static_cast<unsigned>(ranks)) ? 512 * kib : 64 * kib;
  return bytes <= 16 * kib ? allreduce_algorithm::doubling
         : bytes <= halved ? allreduce_algorithm::halving
                           : allreduce_algorithm::ring;
}

/// The function that advances a task of this algorithm.
bool (*advance_of(allreduce_algorithm algorithm))(task&);

/// Scratch memory of the algorithm, in bytes.
std::size_t scratch_of(allreduce_algorithm algorithm, port const& at, elements const& data, int ranks);

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/communicator/impl/allreduce_algorithm.ipp>
#endif
