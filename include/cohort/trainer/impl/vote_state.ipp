// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/config.hpp>
#include <cohort/trainer/detail/vote_state.hpp>
#include <utility>

namespace cohort::detail {

COHORT_CORE_INLINE void vote_state::request(votes const& wanted) {
  if (wanted.stop) stop_.store(true);
  if (wanted.save) save_.store(true);
}

COHORT_CORE_INLINE votes vote_state::requested() const {
  return {.stop = stop_.load(), .save = save_.load()};
}

COHORT_CORE_INLINE void vote_state::clear(votes const& agreed) {
  if (agreed.stop) stop_.store(false);
  save_.store(false);
}

COHORT_CORE_INLINE bool vote_state::advance_to(agreement const& met) {
  return std::exchange(meetings_, met.meetings) != met.meetings;
}

}  // namespace cohort::detail
