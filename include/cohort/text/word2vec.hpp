// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <cohort/text/token_stream.hpp>
#include <cohort/text/word2vec_settings.hpp>
#include <cohort/text/word_vectors.hpp>
#include <cohort/text/word_vocabulary.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace cohort {

namespace detail {
class word2vec_state;
}

/// Learns word vectors: skip-gram with negative sampling or hierarchical softmax, over ranks.
///
///     text lines ──> word_vocabulary::encode ──> tokens ──> windows ──> gradients of touched rows
///                                                             │               │ allgatherv
///                                       every rank: the same rows of `input` and `output` updated
///
///     loss = −ln σ(v_x·u_c) − Σ ln σ(−v_x·u_n)          x in the window of c, n noise words
///     loss = −Σ ln σ(±v_x·u_node)                       nodes on the path to c in a Huffman tree
///
/// Shapes    two matrices: input, words × width, whose rows are the word vectors; output, words × width, or
///           (words − 1) × width for hierarchical softmax.
/// Order     collective: every rank makes the same calls in the same order with the same arguments. Each step
///           uses the next `windows` windows of the text; the last step of an epoch may have fewer windows.
///           Each rank computes a contiguous part of the step's windows.
/// After     a step: the optimizer has updated each touched row with g, the sum of the row's gradients over
///           the step's terms. With sgd, the rate of a row of n terms is at most `row_limit` / n. Without
///           this limit, rows of frequent words would diverge in large steps.
/// Moves     4·(width + 2) bytes for each row that a rank's windows touch, sent once to every other rank.
/// Errors    setting_error; data_error for a token outside the vocabulary; communicator_error.
/// Exact     only touched rows are read, sent and updated. With sgd and adagrad, the result equals an update
///           of all rows, because the gradient of all other rows is 0. With adam, the result differs: moments
///           and vectors of untouched rows stay unchanged, as in PyTorch's SparseAdam. The results of P ranks
///           equal those of one rank up to rounding. The ranks' sums are added in the order of the ranks, so
///           the same seed, ranks and text give the same bits on every rank.
/// Source    Mikolov, Sutskever, Chen, Corrado and Dean, NeurIPS 2013: objective, subsampling, noise
///           ∝ count^0.75; the tool's keep probability (√(f/t) + 1)·t/f. Shared noise words: Ji, Satish, Li
///           and Dubey, "Parallelizing Word2Vec in Shared and Distributed Memory", 2016.
class word2vec {
 public:
  /// `world` must outlive the object.
  word2vec(word_vocabulary words, communicator& world, word2vec_settings settings = {});
  /// Creates an object for a single rank.
  explicit word2vec(word_vocabulary words, word2vec_settings settings = {});
  word2vec(word2vec&&) noexcept;
  word2vec& operator=(word2vec&&) noexcept;
  ~word2vec();

  /// Makes the next step; returns nothing after the last epoch.
  ///
  /// `tokens`  result of word_vocabulary::encode; the same in each call, on every rank
  std::optional<word2vec_step> step(token_stream const& tokens);
  /// Makes all remaining steps. `on_step` is called after each step, on every rank.
  void fit(token_stream const& tokens, std::function<void(word2vec_step const&)> const& on_step = {});

  /// Returns the word vectors: the rows of the input matrix.
  word_vectors vectors() const;
  /// Returns the rows of the output matrix.
  ///
  /// Errors    setting_error for hierarchical softmax, whose rows do not belong to words.
  word_vectors output_vectors() const;

  /// Writes matrices, optimizer state and position to a safetensors file. Not collective. All ranks have the
  /// same contents, so it is enough if one rank calls save.
  ///
  /// Errors    file_error.
  void save(std::string const& path) const;
  /// Restores the state that `save` has written.
  ///
  /// Order     every rank calls load between the same steps.
  /// Exact     training continues as if it had not been interrupted: bit by bit with the same number of
  ///           ranks, up to rounding with any other number.
  /// Errors    file_error; data_error if the file is damaged, or if its vocabulary or settings differ.
  void load(std::string const& path);

 private:
  std::unique_ptr<detail::word2vec_state> state_;
};

}  // namespace cohort
