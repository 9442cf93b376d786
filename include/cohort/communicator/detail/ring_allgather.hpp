// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/detail/operation_messages.hpp>
#include <cstdint>

namespace cohort::detail {

/// Passes each rank's part once around the ring, so that every rank holds all parts.
///
/// Shapes    part(k) is the memory of the part of rank k modulo P.
/// After     if a call has returned true, every later call returns true.
template <class Part>
bool pass_around_ring(operation_messages& m, int& step, Part part) {
  for (; step < m.size(); ++step) {
    if (!m.all_complete()) return false;
    if (step == m.size() - 1) continue;
    m.receive(m.wrapped(m.rank() - 1), part(m.rank() - step - 1));
    m.send(m.wrapped(m.rank() + 1), part(m.rank() - step));
  }
  return true;
}

/// Allgather of the equal parts of `data` around a ring. The part that each rank sends to the next rank:
///
///     P = 4    rank 0     rank 1     rank 2     rank 3
///     step 0     0    ->    1    ->    2    ->    3    -> rank 0
///     step 1     3    ->    0    ->    1    ->    2    -> rank 0
///     step 2     2    ->    3    ->    0    ->    1    -> rank 0
///
/// Moves     per rank: P − 1 messages, in total (P−1)/P·n bytes for n bytes of data (all parts except that of
///           the next rank).
/// Source    Thakur, Rabenseifner and Gropp, IJHPCA 2005.
struct ring_allgather {
  elements data{};
  std::int64_t grain = 1;  // bounds of the parts are multiples
  int step = 0;

  bool advance(operation_messages& m) {
    return pass_around_ring(m, step, [&](int k) { return bytes_in(m.part(data, k, grain)); });
  }
};

}  // namespace cohort::detail
