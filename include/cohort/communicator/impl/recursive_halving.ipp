// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cohort/communicator/detail/recursive_halving.hpp>

namespace cohort::detail {

bool recursive_halving::advance(operation_messages& m) {
  return advance_among(m, [&](folded_ranks const& folded) {
    int const rounds = std::countr_zero(static_cast<unsigned>(folded.ranks));
    /// Elements of the 2^bit parts around part `index`.
    auto const parts = [&](int index, int bit) {
      index_slice const all{0, static_cast<std::int64_t>(data.count)};
      int const begin = index >> bit << bit;
      index_slice const first = part_of(all, begin, folded.ranks);
      index_slice const last = part_of(all, begin + (1 << bit) - 1, folded.ranks);
      return slice_of(data, {first.first, last.first + last.count - first.first});
    };
    while (m.all_complete()) {
      if (step > 0 && step <= rounds) m.combine_received(parts(folded.index, rounds - step), op);
      if (step == 2 * rounds) return true;
      int const bit = step < rounds ? rounds - 1 - step : step - rounds;
      int const partner = folded.index ^ 1 << bit;
      elements const own = parts(folded.index, bit), other = parts(partner, bit);
      if (step < rounds)
        m.receive_combining(folded.rank_at(partner), own, op);
      else
        m.receive(folded.rank_at(partner), bytes_in(other));
      m.send(folded.rank_at(partner), bytes_in(step < rounds ? other : own));
      ++step;
    }
    return false;
  });
}

std::size_t recursive_halving::scratch_bytes(port const& through, int ranks) const {
  if (through.wire->combines()) return 0;
  bool const folds = !std::has_single_bit(static_cast<unsigned>(ranks));
  return folds ? data.bytes() : (data.count / 2 + static_cast<std::size_t>(ranks)) * bytes_of(data.type);
}

}  // namespace cohort::detail
