// SPDX-License-Identifier: Apache-2.0
#include <cohort/training/detail/vote_state.hpp>
#include <utility>

namespace cohort::detail {

void vote_state::request(votes const& wanted) {
  if (wanted.stop) stop_.store(true);
  if (wanted.save) save_.store(true);
}

votes vote_state::requested() const { return {.stop = stop_.load(), .save = save_.load()}; }

void vote_state::clear(votes const& agreed) {
  if (agreed.stop) stop_.store(false);
  save_.store(false);
}

bool vote_state::advance_to(agreement const& met) {
  return std::exchange(meetings_, met.meetings) != met.meetings;
}

}  // namespace cohort::detail
