// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/codec/message.hpp>
#include <cohort/strategy/strategy.hpp>
#include <cstdint>

namespace cohort::detail {

/// Votes as the flags of a message.
constexpr std::uint32_t flags_of(votes const& all) {
  return (all.stop ? 1U : 0U) | (all.save ? 2U : 0U) | (all.not_finite ? 4U : 0U);
}

/// Adds what a message says of its ranks to what others have said.
inline void add_said(message_header const& of, agreement& to) {
  to.examples += static_cast<std::int64_t>(of.examples);
  to.weight += of.weight;
  to.all |= {.stop = (of.flags & 1U) != 0, .save = (of.flags & 2U) != 0, .not_finite = (of.flags & 4U) != 0};
}

}  // namespace cohort::detail
