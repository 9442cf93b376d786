// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cohort/communicator/detail/combine.hpp>
#include <cohort/communicator/detail/recursive_doubling.hpp>
#include <cohort/communicator/detail/recursive_halving.hpp>

namespace cohort::detail {

std::size_t scratch_of_halving(port const& at, elements const& data, int ranks) {
  if (at.wire->combines()) return 0;
  bool const folds = !std::has_single_bit(static_cast<unsigned>(ranks));
  return folds ? data.bytes() : (data.count / 2 + static_cast<std::size_t>(ranks)) * bytes_of(data.type);
}

/// Elements of the parts [first, first + count), of `ranks` parts in total.
elements consecutive_parts(task const& t, int ranks, int first, int count) {
  index_slice const all{0, static_cast<std::int64_t>(t.data.count)};
  index_slice const a = part_of(all, first, ranks), b = part_of(all, first + count - 1, ranks);
  return slice_of(t.data, {a.first, b.first + b.count - a.first});
}

bool recursive_halving_allreduce(task& t) {
  return with_folded_ranks(t, [](task& of, folded_ranks const& folded) {
    int const rounds = std::countr_zero(static_cast<unsigned>(folded.ranks));
    bool const in_place = of.at.wire->combines();
    /// The halves of this rank and of its partner, in the exchange between participants whose indices differ
    /// in one bit.
    struct halves {
      elements own, other;
    };
    auto const at_bit = [&](int bit) {
      int const count = 1 << bit;
      int const own = folded.index >> bit << bit;
      return halves{consecutive_parts(of, folded.ranks, own, count),
                    consecutive_parts(of, folded.ranks, own ^ count, count)};
    };
    while (of.all_complete()) {
      if (of.step > 0 && of.step <= rounds && !in_place)
        combine(of.at.vectors, at_bit(rounds - of.step).own, of.scratch.data(), of.how);
      if (of.step == 2 * rounds) return true;
      int const bit = of.step < rounds ? rounds - 1 - of.step : of.step - rounds;
      int const partner = folded.rank_at(folded.index ^ 1 << bit);
      halves const now = at_bit(bit);
      if (of.step >= rounds) {
        of.receive(partner, bytes_in(now.other));
        of.send(partner, bytes_in(now.own));
      } else {
        if (in_place)
          of.receive_combining(partner, now.own);
        else
          of.receive(partner, {of.scratch.data(), now.own.bytes()});
        of.send(partner, bytes_in(now.other));
      }
      ++of.step;
    }
    return false;
  });
}

}  // namespace cohort::detail
