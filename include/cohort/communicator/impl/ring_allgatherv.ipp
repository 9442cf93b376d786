// SPDX-License-Identifier: Apache-2.0
#include <cohort/communicator/detail/ring_allgatherv.hpp>
#include <cstdint>
#include <cstring>

namespace cohort::detail {

bool ring_allgatherv::advance(operation_messages& m) {
  static_assert(sizeof(std::size_t) == sizeof(std::uint64_t));
  auto& first = all->first;
  if (step == 0) {
    if (!sizes.advance(m)) return false;
    std::span const each(reinterpret_cast<std::size_t const*>(sizes.data.data), sizes.data.count);
    first[0] = 0;
    for (std::size_t r = 0; r < each.size(); ++r) first[r + 1] = first[r] + each[r];
    all->bytes.resize(first.back());
    if (!contribution.empty())
      std::memcpy(all->bytes.data() + first[static_cast<std::size_t>(m.rank())], contribution.data(),
                  contribution.size());
  }
  return pass_around_ring(m, step, [&](int k) {
    auto const r = static_cast<std::size_t>(m.wrapped(k));
    return std::span(all->bytes).subspan(first[r], first[r + 1] - first[r]);
  });
}

}  // namespace cohort::detail
