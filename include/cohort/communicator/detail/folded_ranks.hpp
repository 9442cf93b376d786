// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cohort/communicator/detail/operation_messages.hpp>
#include <cstdint>

namespace cohort::detail {

/// Reduces the number of participants to a power of two, 2ᵏ: the first 2·(P − 2ᵏ) of the P ranks form pairs,
/// and only the second rank of each pair participates.
///
/// Source    Thakur, Rabenseifner and Gropp, IJHPCA 2005, section 4.
struct folded_ranks {
  constexpr folded_ranks(int rank, int size)
      : ranks(static_cast<int>(std::bit_floor(static_cast<unsigned>(size)))),
        pairs(size - ranks),
        participates(rank >= 2 * pairs || rank % 2 == 1),
        partner(rank >= 2 * pairs ? -1 : rank ^ 1),
        index(rank >= 2 * pairs ? rank - pairs : rank / 2) {}
  /// The rank of participant `which`.
  int rank_at(int which) const { return which < pairs ? 2 * which + 1 : which + pairs; }

  int ranks;  ///< number of participants
  int pairs;  ///< number of pairs
  bool participates;
  int partner;  ///< the other rank of the pair; −1: none
  int index;
};

/// Base of allreduces among the participants of folded_ranks. Before the allreduce, the first rank of each
/// pair sends its elements to the participant, which reduces them into its own elements. After the allreduce,
/// the participant sends the result back.
///
/// Order     in pair i: x_2i ⊕ x_2i+1, where x_r are the elements of rank r.
struct folded_allreduce {
  elements data{};
  reduction op = reduction::sum;
  enum class state : std::uint8_t { folds, exchanges, unfolds } phase = state::folds;
  int step = 0;

  /// Runs among(folded_ranks), which advances the allreduce of the participants and counts its steps.
  template <class Among>
  bool advance_among(operation_messages& m, Among among) {
    folded_ranks const folded(m.rank(), m.size());
    if (phase == state::folds) {
      if (folded.partner >= 0 && step++ == 0) {
        if (folded.participates)
          m.receive_combining(folded.partner, data, op);
        else
          m.send(folded.partner, bytes_in(data));
      }
      if (!m.all_complete()) return false;
      if (folded.partner >= 0 && folded.participates) m.combine_received(data, op);
      phase = state::exchanges;
      step = 0;
    }
    if (phase == state::exchanges) {
      if (folded.participates && !among(folded)) return false;
      phase = state::unfolds;
      step = 0;
    }
    if (folded.partner >= 0 && step++ == 0) {
      if (folded.participates)
        m.send(folded.partner, bytes_in(data));
      else
        m.receive(folded.partner, bytes_in(data));
    }
    return m.all_complete();
  }
};

}  // namespace cohort::detail
