// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/detail/combine.hpp>
#include <cohort/communicator/detail/task.hpp>
#include <cstddef>

namespace cohort::detail {

/// What a rank needs beside the elements: room for one part, where the transport does not combine.
inline std::size_t scratch_of_ring(port const& at, elements const& data, int ranks) {
  return at.wire->combines() ? 0 : (data.count / static_cast<std::size_t>(ranks) + 1) * bytes_of(data.type);
}

/// Each part goes once around the ring and every rank adds its own; it ends at the rank of its number.
///
/// Order     part p is x_{p+1} ⊕ x_{p+2} ⊕ … ⊕ x_p, from left to right, indices modulo P.
/// Moves     P − 1 messages a rank: all parts but the own.
inline bool ring_reduce_scatter(task& t) {
  bool const in_place = t.at.wire->combines();
  while (t.settled()) {
    elements const arrived = t.part(t.rank() - t.step - 1);
    elements const coming = t.part(t.rank() - t.step - 2);
    if (t.step > 0 && !in_place) combine(t.at.vectors, arrived, t.scratch.data(), t.how);
    if (t.step == t.size() - 1) return true;
    if (in_place)
      t.receive_combining(t.wrapped(t.rank() - 1), coming);
    else
      t.receive(t.wrapped(t.rank() - 1), {t.scratch.data(), coming.bytes()});
    t.send(t.wrapped(t.rank() + 1), bytes_in(arrived));
    ++t.step;
  }
  return false;
}

}  // namespace cohort::detail
