// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cohort/communicator/detail/tree_broadcast.hpp>

namespace cohort::detail {

bool tree_broadcast(task& t) {
  int const root = t.peer;
  auto const ranks = static_cast<unsigned>(t.size());
  auto const from_root = static_cast<unsigned>(t.wrapped(t.rank() - root));
  if (t.step == 0) {
    t.step = 1;
    if (from_root != 0)
      t.receive(t.wrapped(static_cast<int>(from_root & (from_root - 1)) + root), bytes_in(t.data));
  }
  if (!t.all_complete()) return false;
  if (t.step == 2) return true;
  t.step = 2;
  unsigned const reach = from_root == 0 ? std::bit_ceil(ranks) : from_root & (0U - from_root);
  for (unsigned hop = reach / 2; hop > 0; hop /= 2)
    if (from_root + hop < ranks)
      t.send(t.wrapped(static_cast<int>(from_root + hop) + root), bytes_in(t.data));
  return t.all_complete();
}

}  // namespace cohort::detail
