// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/training/training.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace cohort {

/// Runs a transformer token by token. The keys and values of earlier steps are cached (a KV cache), so each
/// step computes only the new token. Only the cost of attention grows with the number of earlier steps.
///
/// Shapes    the network's input: T token indices; its first output: T×V, V probabilities at each step.
/// Units     one sequence, on settings().workers · settings().threads threads.
/// Order     the training must outlive the decoder. After a further step of training, call reset before the
///           next advance.
/// Exact     outputs are computed in f32; they equal those of training::predict for this sequence up to
///           rounding.
/// Errors    setting_error for a network with other shapes. setting_error naming the layer if a layer cannot
///           run step by step. Such layers are: recurrent layers, convolutions, non-causal attention,
///           user-defined layers without `in_place`.
/// Cost      memory for a copy of the parameters in f32, and for 2·T·C f32 elements for each attention layer
///           of C columns.
/// Source    Shazeer, "Fast Transformer Decoding", 2019.
class token_decoder {
 public:
  explicit token_decoder(training const& net);
  token_decoder(token_decoder&&) noexcept;
  token_decoder& operator=(token_decoder&&) noexcept;
  ~token_decoder();

  /// Returns T, the largest number of steps.
  int window() const;
  /// Returns the number of steps so far.
  int steps() const;
  /// Appends tokens and returns the probabilities of the next token, valid until the next call.
  ///
  /// Errors    setting_error without tokens, or for more than window() steps in total; data_error for a token
  ///           outside the vocabulary. After an error, the steps are unchanged.
  std::span<float const> advance(std::span<std::int32_t const> tokens);
  /// Discards all steps. If the parameters have changed, reads them again.
  void reset();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

namespace detail {

/// Returns why token_decoder refuses this network, as a clause that names the layer; empty for a network that
/// is accepted.
std::string why_not_decoded(graph_view net);

}  // namespace detail

}  // namespace cohort
