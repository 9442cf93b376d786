// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/detail/combine.hpp>
#include <cohort/communicator/detail/task.hpp>
#include <cstddef>

namespace cohort::detail {

/// Reduces the number of participants to a power of two 2ᵏ: the first 2·(P − 2ᵏ) ranks form pairs, of which
/// only the second rank participates.
///
/// Source    Thakur, Rabenseifner and Gropp, IJHPCA 2005, section 4.
struct folded_ranks {
  explicit folded_ranks(task const& t);
  /// The rank of participant `which`.
  int rank_at(int which) const { return which < pairs ? 2 * which + 1 : which + pairs; }

  int ranks;  ///< number of participants
  int pairs;  ///< number of pairs
  bool participates;
  int partner;  ///< the other rank of the pair; −1: none
  int index;
};

/// Runs among(task, folded_ranks), a collective of the participants (phase 1). Before the collective, the
/// first rank of each pair sends its elements to the participant, which reduces them into its elements (phase
/// 0). After the collective, the participant returns the result (phase 2).
///
/// Order     x_2i ⊕ x_2i+1.
template <class Among>
bool with_folded_ranks(task& t, Among among) {
  folded_ranks const folded(t);
  bool const in_place = t.at.wire->combines();
  if (t.phase == 0) {
    if (folded.partner >= 0 && t.step++ == 0) {
      if (!folded.participates)
        t.send(folded.partner, bytes_in(t.data));
      else if (in_place)
        t.receive_combining(folded.partner, t.data);
      else
        t.receive(folded.partner, {t.scratch.data(), t.data.bytes()});
    }
    if (!t.all_complete()) return false;
    if (folded.partner >= 0 && folded.participates && !in_place)
      combine(t.at.vectors, t.data, t.scratch.data(), t.how);
    t.phase = 1;
    t.step = 0;
  }
  if (t.phase == 1) {
    if (folded.participates && !among(t, folded)) return false;
    t.phase = 2;
    t.step = 0;
  }
  if (folded.partner >= 0 && t.step++ == 0) {
    if (folded.participates)
      t.send(folded.partner, bytes_in(t.data));
    else
      t.receive(folded.partner, bytes_in(t.data));
  }
  return t.all_complete();
}

/// Scratch memory: as many bytes as the elements.
inline std::size_t scratch_of_doubling(elements const& data) { return data.bytes(); }

/// Allreduce by recursive doubling. In round k each rank exchanges all elements with the rank whose number
/// differs in bit k, and reduces them.
///
/// Order     the sums of 2ᵏ neighbours are added in the order of the ranks: bitwise equal on all ranks.
/// Moves     log2 P messages of n per rank. If P is not a power of two, one more message in each direction
///           within a pair.
/// Source    Thakur, Rabenseifner and Gropp, IJHPCA 2005.
bool recursive_doubling_allreduce(task& t);

}  // namespace cohort::detail
