// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/detail/combine.hpp>
#include <cohort/communicator/detail/task.hpp>
#include <cstddef>

namespace cohort::detail {

/// Where ranks are no power of two: the first 2·(P − 2ᵏ) of them go in pairs, and only the second of each takes part.
///
/// Source    Thakur, Rabenseifner and Gropp, IJHPCA 2005, section 4.
struct folded_ranks {
  explicit folded_ranks(task const& t);
  /// The rank that has that place.
  int rank_at(int which) const { return which < pairs ? 2 * which + 1 : which + pairs; }

  int ranks;  ///< that take part
  int pairs;
  bool has_place;
  int partner;  ///< −1: none
  int place;
};

/// Takes the elements of a pair to the one that takes part (phase 0), lets `among` work on them there (phase 1), and hands
/// back what has come of them (phase 2).
///
/// Order     x_2i ⊕ x_2i+1.
template <class Among>
bool with_folded_ranks(task& t, Among among) {
  folded_ranks const folded(t);
  bool const in_place = t.at.wire->combines();
  if (t.phase == 0) {
    if (folded.partner >= 0 && t.step++ == 0) {
      if (!folded.has_place)
        t.send(folded.partner, bytes_in(t.data));
      else if (in_place)
        t.receive_combining(folded.partner, t.data);
      else
        t.receive(folded.partner, {t.scratch.data(), t.data.bytes()});
    }
    if (!t.settled()) return false;
    if (folded.partner >= 0 && folded.has_place && !in_place)
      combine(t.at.vectors, t.data, t.scratch.data(), t.how);
    t.phase = 1;
    t.step = 0;
  }
  if (t.phase == 1) {
    if (folded.has_place && !among(t, folded)) return false;
    t.phase = 2;
    t.step = 0;
  }
  if (folded.partner >= 0 && t.step++ == 0) {
    if (folded.has_place)
      t.send(folded.partner, bytes_in(t.data));
    else
      t.receive(folded.partner, bytes_in(t.data));
  }
  return t.settled();
}

/// What a rank needs beside the elements: room for as many.
inline std::size_t scratch_of_doubling(elements const& data) { return data.bytes(); }

/// In round k each rank exchanges all elements with the one whose number differs in bit k, and adds.
///
/// Order     the sums of 2ᵏ neighbours are added in the order of the ranks: equal bits everywhere.
/// Moves     log2 P messages of n a rank; where P is no power of two, one more each way between the ranks of a pair.
/// Source    Thakur, Rabenseifner and Gropp, IJHPCA 2005.
bool recursive_doubling_allreduce(task& t);

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/communicator/impl/recursive_doubling.ipp>
#endif
