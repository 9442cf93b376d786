// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/config.hpp>
#include <cohort/strategy/detail/message_votes.hpp>

namespace cohort::detail {

COHORT_CORE_INLINE void add_said(message_header const& of, agreement& to) {
  to.examples += static_cast<std::int64_t>(of.examples);
  to.weight += of.weight;
  to.all |= {.stop = (of.flags & 1U) != 0, .save = (of.flags & 2U) != 0, .not_finite = (of.flags & 4U) != 0};
}

}  // namespace cohort::detail
