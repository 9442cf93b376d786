// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cohort/communicator/detail/recursive_halving.hpp>

namespace cohort::detail {

bool recursive_halving::advance(operation_messages& m) {
  return advance_among(m, [&](folded_ranks const& folded) {
    int const rounds = std::countr_zero(static_cast<unsigned>(folded.ranks));
    std::int64_t const grain = grain_of_parts(data.count, m.size());
    if (phase == allreduce_phase::allgather && step == 0) step = rounds;
    /// Elements of the 2^bit parts around part `index`.
    auto const parts = [&](int index, int bit) {
      index_slice const all{0, static_cast<std::int64_t>(data.count)};
      int const begin = index >> bit << bit;
      index_slice const first = aligned_part_of(all, begin, folded.ranks, grain);
      index_slice const last = aligned_part_of(all, begin + (1 << bit) - 1, folded.ranks, grain);
      return slice_of(data, {first.first, last.first + last.count - first.first});
    };
    while (m.all_complete()) {
      bool const has_received = step > 0 && step <= rounds && phase != allreduce_phase::allgather;
      if (has_received) m.combine_received(parts(folded.index, rounds - step), op);
      if (step == (phase == allreduce_phase::reduce_scatter ? rounds : 2 * rounds)) return true;
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
  if (through.wire->combines() || phase == allreduce_phase::allgather) return 0;
  if (!std::has_single_bit(static_cast<unsigned>(ranks))) return data.bytes();
  auto const grain = static_cast<std::size_t>(grain_of_parts(data.count, ranks));
  return std::min(data.count, data.count / 2 + static_cast<std::size_t>(ranks) * grain) * bytes_of(data.type);
}

}  // namespace cohort::detail
