// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cohort/communicator/detail/tree_broadcast.hpp>

namespace cohort::detail {

bool tree_broadcast::advance(operation_messages& m) {
  auto const ranks = static_cast<unsigned>(m.size());
  auto const from_root = static_cast<unsigned>(m.wrapped(m.rank() - root));
  if (phase == state::begins) {
    phase = state::receives;
    if (from_root != 0)
      m.receive(m.wrapped(static_cast<int>(from_root & (from_root - 1)) + root), bytes_in(data));
  }
  if (!m.all_complete()) return false;
  if (phase == state::sends) return true;
  phase = state::sends;
  unsigned const reach = from_root == 0 ? std::bit_ceil(ranks) : from_root & (0U - from_root);
  for (unsigned hop = reach / 2; hop > 0; hop /= 2)
    if (from_root + hop < ranks) m.send(m.wrapped(static_cast<int>(from_root + hop) + root), bytes_in(data));
  return m.all_complete();
}

}  // namespace cohort::detail
