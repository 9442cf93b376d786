// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <bit>
#include <cohort/communicator/link.hpp>
#include <cstddef>
#include <cstdint>

namespace cohort::detail {

/// Algorithm of an allreduce.
enum class allreduce_algorithm : std::uint8_t { ring, halving, doubling };

/// Chooses the algorithm from the bytes and the number of ranks only, so that all ranks choose the same
/// algorithm, over any transport.
///
/// The bounds up to 16 ranks are measured (allreduce_algorithms_benchmark). Below the first bound, rounds
/// cost more than bytes. Above the second bound, the ring is faster, because it loads all links equally. The
/// second bound is lower if halving has to fold ranks. Above 16 ranks, the second bound is at least (P − 1 −
/// ⌊log2 P⌋) · latency_equivalent_bytes: half of the latency that halving saves over the ring, converted to
/// bytes. If ranks are folded, an eighth of this latency counts instead of half, because each pair sends 2n
/// more bytes. These factors are a heuristic, which only the scaling simulator has tested.
constexpr allreduce_algorithm choose_allreduce_algorithm(std::size_t bytes, int ranks) {
  constexpr std::size_t kib = 1024;
  auto const count = static_cast<unsigned>(ranks);
  bool const folds = !std::has_single_bit(count);
  std::size_t halving_limit = folds ? 64 * kib : 512 * kib;
  if (ranks > 16) {
    double const saved_rounds = ranks - static_cast<int>(std::bit_width(count));
    halving_limit = std::max(halving_limit, static_cast<std::size_t>((folds ? 0.25 : 1) * saved_rounds
                                                                     * latency_equivalent_bytes));
  }
  return bytes <= 16 * kib        ? allreduce_algorithm::doubling
         : bytes <= halving_limit ? allreduce_algorithm::halving
                                  : allreduce_algorithm::ring;
}

}  // namespace cohort::detail
