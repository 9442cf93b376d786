// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cohort/communicator/recursive_doubling.hpp>
#include <cohort/communicator/recursive_halving.hpp>
#include <cohort/communicator/ring_allreduce.hpp>
#include <cohort/communicator/task.hpp>
#include <cstddef>
#include <cstdint>

namespace cohort::detail {

/// How the elements of all ranks become one.
enum class allreduce_way : std::uint8_t { ring, halving, doubling };

/// The way of an allreduce of so many bytes over so many ranks: nothing else decides, so that all ranks take the same, over
/// any transport. The bounds are measured (allreduce_ways_benchmark): rounds cost more than bytes below the first, and above
/// the second a ring's even load of the links counts, the sooner where halving has ranks to fold.
constexpr allreduce_way way_of_allreduce(std::size_t bytes, int ranks) {
  constexpr std::size_t kib = 1024;
  std::size_t const halved = std::has_single_bit(static_cast<unsigned>(ranks)) ? 512 * kib : 64 * kib;
  return bytes <= 16 * kib ? allreduce_way::doubling
         : bytes <= halved ? allreduce_way::halving
                           : allreduce_way::ring;
}

inline bool (*advance_of(allreduce_way way))(task&) {
  return way == allreduce_way::ring      ? ring_allreduce
         : way == allreduce_way::halving ? recursive_halving_allreduce
                                         : recursive_doubling_allreduce;
}

inline std::size_t scratch_of(allreduce_way way, port const& at, elements const& data, int ranks) {
  return way == allreduce_way::ring      ? scratch_of_ring(at, segment_of_ring(data, 0, ranks), ranks)
         : way == allreduce_way::halving ? scratch_of_halving(at, data, ranks)
                                         : scratch_of_doubling(data);
}

}  // namespace cohort::detail
