// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <bit>
#include <cohort/communicator/detail/task.hpp>
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
/// cost more than bytes. Above the second one, the even load of a ring's links matters more; this bound is
/// lower if halving has to fold ranks. With more ranks it grows with the number of messages that halving
/// saves:
/// 2(P − 1) − 2 log2 P, each of which costs as much as latency_equivalent_bytes.
constexpr allreduce_algorithm choose_allreduce_algorithm(std::size_t bytes, int ranks) {
  constexpr std::size_t kib = 1024;
  auto const of = static_cast<unsigned>(ranks);
  bool const folds = !std::has_single_bit(of);
  double const saved = ranks - std::bit_width(of);  // half of the number of messages
  std::size_t const halved =
      std::max(folds ? 64 * kib : 512 * kib,
               static_cast<std::size_t>((folds ? 0.25 : 1) * saved * latency_equivalent_bytes));
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
