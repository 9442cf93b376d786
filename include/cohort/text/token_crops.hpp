// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/dataset.hpp>
#include <cohort/text/token_stream.hpp>
#include <cstdint>

namespace cohort {

/// Settings of token_crops.
///
/// Units     tokens.
struct crop_settings {
  int length = 0;          ///< length of a crop, at least 1
  int vocabulary = 0;      ///< tokens are 0 … vocabulary − 1
  bool fixed = false;      ///< the same crops in every epoch, for evaluation
  std::uint64_t seed = 1;  ///< seed of the epochs' offsets
};

/// Returns crops of a token stream, for a network that predicts the next token at every step. Crop i begins
/// at token offset + i·length. The offset is 0 if `fixed`, otherwise drawn for each epoch, uniform in 0 …
/// length − 1. In an epoch, each token is an input at most once, and at most 2·length tokens are not used as
/// inputs.
///
/// Shapes    input "tokens": `length` indices; target "next": `length` class labels, the tokens that follow.
///           For n tokens: (n − 1) / length crops if `fixed`, otherwise (n − length) / length.
/// Exact     a crop is a function of (seed, epoch, i): the same on any rank.
/// Errors    setting_error for invalid settings, or a stream that is too short for one crop. data_error on
///           reading a crop that contains a token outside the vocabulary.
dataset token_crops(token_stream tokens, crop_settings const& settings);

}  // namespace cohort
