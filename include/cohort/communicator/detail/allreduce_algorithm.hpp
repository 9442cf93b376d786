// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cohort/communicator/detail/task.hpp>
#include <cstddef>
#include <cstdint>

namespace cohort::detail {

/// How the elements of all ranks become one.
enum class allreduce_algorithm : std::uint8_t { ring, halving, doubling };

/// The way of an allreduce of so many bytes over so many ranks: nothing else decides, so that all ranks take the same, over
/// any transport. The bounds are measured (allreduce_algorithms_benchmark): rounds cost more than bytes below the first, and above
/// the second a ring's even load of the links counts, the sooner where halving has ranks to fold.
constexpr allreduce_algorithm choose_allreduce_algorithm(std::size_t bytes, int ranks) {
  constexpr std::size_t kib = 1024;
  std::size_t const halved = std::has_single_bit(static_cast<unsigned>(ranks)) ? 512 * kib : 64 * kib;
  return bytes <= 16 * kib ? allreduce_algorithm::doubling
         : bytes <= halved ? allreduce_algorithm::halving
                           : allreduce_algorithm::ring;
}

bool (*advance_of(allreduce_algorithm way))(task&);

std::size_t scratch_of(allreduce_algorithm way, port const& at, elements const& data, int ranks);

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/communicator/impl/allreduce_algorithm.ipp>
#endif
