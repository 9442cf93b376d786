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
void add_said(message_header const& of, agreement& to);

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/strategy/impl/message_votes.ipp>
#endif
