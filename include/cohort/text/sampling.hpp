// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/random/stream.hpp>
#include <cohort/text/detail/implementation.hpp>
#include <cstdint>
#include <span>

namespace cohort {

/// Rules for drawing the next token, applied in the order of the fields.
struct sampling {
  double temperature = 1;  ///< probabilities^(1 / temperature); 0: always the most probable token
  int top_k = 0;           ///< only the top_k most probable tokens; 0: all
  double top_p = 1;        ///< nucleus sampling: the fewest tokens whose probabilities sum to at least top_p
};

/// Draws a token from the probabilities of all tokens, which need not sum to 1. Of equally probable tokens
/// the one with the lower index counts as more probable.
///
/// Parameters  `i`: index in `draws` of the random number that this call uses.
/// Errors      setting_error for a negative or infinite temperature, a negative top_k, or top_p outside
///             (0, 1]. numeric_error if a probability is negative or not finite, or all are 0.
/// Exact       the same arguments give the same token with the same math library.
/// Source      top_p: Holtzman et al., "The Curious Case of Neural Text Degeneration", ICLR 2020.
std::int32_t drawn_token(std::span<float const> probabilities, sampling const& rules,
                         random_stream const& draws, std::uint64_t i);

}  // namespace cohort
