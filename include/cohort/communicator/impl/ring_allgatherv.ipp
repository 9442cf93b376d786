// SPDX-License-Identifier: Apache-2.0
#include <cohort/communicator/detail/ring_allgather.hpp>
#include <cohort/communicator/detail/ring_allgatherv.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace cohort::detail {

bool ring_allgatherv(task& t) {
  static_assert(sizeof(std::size_t) == sizeof(std::uint64_t));
  auto& first = t.all->first;
  if (t.phase == 0) {
    if (!ring_allgather(t)) return false;
    first[0] = 0;
    for (std::size_t r = 1; r < first.size(); ++r) first[r] += first[r - 1];
    t.all->bytes.resize(first.back());
    if (!t.mine.empty())
      std::memcpy(t.all->bytes.data() + first[static_cast<std::size_t>(t.rank())], t.mine.data(),
                  t.mine.size());
    t.phase = 1;
    t.step = 0;
  }
  return pass_around_ring(t, [&](int k) {
    auto const r = static_cast<std::size_t>(t.wrapped(k));
    return std::span(t.all->bytes).subspan(first[r], first[r + 1] - first[r]);
  });
}

}  // namespace cohort::detail
