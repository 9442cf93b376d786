// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/text/sampling.hpp>
#include <cohort/training/training.hpp>
#include <cstdint>
#include <span>
#include <vector>

namespace cohort {

class stateful_predictions;

/// Settings of generate_tokens.
struct generation_settings {
  int count = 100;         ///< number of new tokens
  sampling rules = {};     ///< how each token is drawn
  std::uint64_t seed = 1;  ///< seed of the random numbers
  bool cached = true;      ///< use a token_decoder if it supports the network
};

/// Returns tokens that continue `prompt`. Each token is drawn from the network's prediction given all tokens
/// before it.
///
/// Before    at each of its T steps, the network predicts the next token only from tokens up to that step.
/// Shapes    input: T token indices; first output: T×V, V probabilities at each step.
/// Exact     the same network, prompt and settings give the same tokens on one machine.
/// Errors    setting_error for a network of another shape, an empty prompt, or invalid settings; data_error
///           for a token outside the vocabulary.
/// Cost      with `cached` and a supported network, each of the first T tokens (including the prompt) costs
///           one step of a token_decoder, and each later token costs one prediction of T steps. Otherwise,
///           each new token costs one prediction of T steps. A prediction reads the last T tokens.
std::vector<std::int32_t> generate_tokens(training const& net, std::span<std::int32_t const> prompt,
                                          generation_settings const& how = {});

/// Like the function above, but for a network of recurrent layers: the prompt and each new token continue the
/// sequence of `stream`.
///
/// Before    the stream has one sequence, and its network predicts the next token at each step.
/// After     the stream has read the prompt and the new tokens, so a further call continues the sequence.
/// Cost      one step for each token. Each prediction depends on all earlier tokens.
std::vector<std::int32_t> generate_tokens(stateful_predictions& stream, std::span<std::int32_t const> prompt,
                                          generation_settings const& how = {});

}  // namespace cohort
