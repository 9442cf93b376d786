// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/text/sampling.hpp>
#include <cohort/trainer/training.hpp>
#include <cstdint>
#include <span>
#include <vector>

namespace cohort {

class stateful_predictions;

/// Settings of generate_tokens.
struct generation_settings {
  int count = 100;         ///< number of new tokens
  sampling rules = {};     ///< for drawing each token
  std::uint64_t seed = 1;  ///< of the random numbers
  bool cached = true;      ///< by a token_decoder, if it supports the network; false: never
};

/// Returns tokens that continue `prompt`, each drawn from the network's prediction after the tokens before
/// it.
///
/// Before    the network predicts the next token at each of its T steps, from this step and earlier ones
///           only.
/// Shapes    input: T token indices; first output: T×V, V probabilities at each step.
/// Exact     the same network, prompt and settings give the same tokens on one machine.
/// Errors    setting_error for a network of another shape, an empty prompt, or invalid settings; data_error
///           for a token outside of the vocabulary.
/// Cost      up to T tokens with the prompt: one step of a token_decoder for each. For later tokens, or if it
///           does not support the network: one prediction of T steps for each, which reads the last T tokens.
std::vector<std::int32_t> generate_tokens(training const& net, std::span<std::int32_t const> prompt,
                                          generation_settings const& how = {});

/// The same with a network of recurrent layers, which continues the sequence of `stream` by the prompt and
/// by each new token.
///
/// Before    the stream has one sequence, and its network predicts the next token at each step.
/// After     the stream has read the prompt and the new tokens, so that another call continues them.
/// Cost      one step for each token. Tokens of the past influence it without a limit.
std::vector<std::int32_t> generate_tokens(stateful_predictions& stream, std::span<std::int32_t const> prompt,
                                          generation_settings const& how = {});

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/trainer/impl/generate_tokens.ipp>
#endif
