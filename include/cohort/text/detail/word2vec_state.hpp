// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <cohort/execution/partition.hpp>
#include <cohort/random/stream.hpp>
#include <cohort/text/token_stream.hpp>
#include <cohort/text/word2vec_settings.hpp>
#include <cohort/text/word_vocabulary.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cohort::detail {

/// Returns the probability with which subsampling keeps each word; nothing if `subsample` is 0.
std::vector<double> keep_probabilities(word_vocabulary const& words, double subsample);

/// Returns a hash of the words and their counts.
std::uint64_t hash_of(word_vocabulary const& words);

/// Returns the dot product, summed in a fixed order and in eight parts, so that compilers can vectorise it.
float dot_in_lanes(float const* a, float const* b, std::size_t n);

/// Position in the text at which the next window begins.
///
/// `sentence`  first token of the sentence of the next window
/// `centre`    index of the next window's centre among the words of the sentence that subsampling keeps
struct word2vec_position {
  std::int64_t step = 0, epoch = 0, sentence = 0, centre = 0;
};

/// Iterates over the windows of the text, in order.
class skip_gram_windows {
 public:
  /// A centre and the words around it: words()[first] … words()[last − 1] without the centre.
  struct window {
    std::size_t centre, first, last;
  };

  skip_gram_windows(word_vocabulary const& words, word2vec_settings const& settings);

  /// Finds the next windows of the epoch, at most `settings.windows`; none at the end of the epoch.
  void advance(token_stream const& tokens, word2vec_position& from);

  std::span<window const> windows() const { return windows_; }
  /// Words of the windows' sentences that subsampling keeps; windows contain indices into these words.
  std::span<std::int32_t const> words() const { return kept_; }

 private:
  static constexpr std::size_t longest_sentence = 1000;  // as in the original tool

  /// Appends those words of the sentence at `begin` that subsampling keeps. Returns the start of the next
  /// sentence.
  std::int64_t read_sentence(token_stream const& tokens, std::int64_t epoch, std::int64_t begin);

  std::int32_t vocabulary_;
  int window_;
  std::size_t most_;
  std::uint64_t seed_;
  std::vector<double> keep_;  // probability that a word is kept; empty: all are kept
  std::vector<std::int32_t> kept_, chunk_;
  std::vector<std::int64_t> places_;  // token positions of kept_
  std::vector<window> windows_;
};

/// Draws words with probability ∝ count^0.75.
class noise_words {
 public:
  explicit noise_words(std::span<std::int64_t const> counts);
  /// Returns the word at quantile `point`, in [0, 1).
  std::int32_t at(double point) const;

 private:
  std::vector<double> cumulative_;
};

/// Huffman tree of the words. The inner nodes are 0 … words − 2; the last one is the root.
class huffman_tree {
 public:
  /// A node on the path to a word, and whether the path takes the second branch of this node.
  struct turn {
    std::int32_t node;
    bool second;
  };

  explicit huffman_tree(std::span<std::int64_t const> counts);
  /// The path from the root to a word.
  std::span<turn const> path(std::int32_t word) const {
    auto const i = static_cast<std::size_t>(word);
    return {turns_.data() + first_[i], first_[i + 1] - first_[i]};
  }

 private:
  std::vector<turn> turns_;
  std::vector<std::size_t> first_;
};

/// Sums of the gradients of a matrix's touched rows, with the number of terms of each sum.
class sparse_rows {
 public:
  sparse_rows(std::size_t rows, std::size_t width) : width_(width), slot_(rows, none) {}

  /// Removes all rows.
  void clear();
  /// Returns the slot of a row. A new slot has sum 0.
  std::size_t touch(std::int32_t row);
  float* sum(std::size_t slot) { return sums_.data() + slot * width_; }
  float const* sum(std::size_t slot) const { return sums_.data() + slot * width_; }
  std::int32_t& terms(std::size_t slot) { return terms_[slot]; }
  std::int32_t terms(std::size_t slot) const { return terms_[slot]; }
  /// The touched rows, in the order of their first touch.
  std::span<std::int32_t const> rows() const { return rows_; }
  std::size_t width() const { return width_; }

  /// Appends rows, terms and sums.
  void write(std::vector<std::byte>& to) const;
  /// Adds the sums that `write` has appended to `from`; returns the bytes after these sums.
  std::span<std::byte const> add(std::span<std::byte const> from);

 private:
  static constexpr std::int32_t none = -1;

  std::size_t width_;
  std::vector<std::int32_t> slot_;  // slot of each row of the matrix, or none
  std::vector<std::int32_t> rows_, terms_;
  std::vector<float> sums_;
};

/// The input or the output matrix of word2vec, with its optimizer state.
class sparse_matrix {
 public:
  sparse_matrix(std::size_t rows, std::size_t width, optimizer_rule const& rule);

  std::size_t rows() const { return rows_; }
  std::span<float> values() { return values_; }
  std::span<float const> values() const { return values_; }
  float const* row(std::int32_t i) const { return values_.data() + static_cast<std::size_t>(i) * width_; }
  /// State arrays of the optimizer, each of the matrix's shape.
  std::span<std::vector<float> const> states() const { return states_; }
  std::span<std::vector<float>> states() { return states_; }

  /// Updates the touched rows. `step` counts from 1.
  void update(sparse_rows const& gradients, double rate, double row_limit, std::int64_t step);

 private:
  std::size_t rows_, width_;
  optimizer_rule rule_;
  std::vector<float> values_;
  std::vector<std::vector<float>> states_;
};

/// State of a word2vec object.
class word2vec_state {
 public:
  word2vec_state(word_vocabulary vocabulary, communicator* given, word2vec_settings how);

  std::optional<word2vec_step> step(token_stream const& tokens);
  void save(std::string const& path) const;
  void load(std::string const& path);

  word_vocabulary words;
  word2vec_settings settings;
  sparse_matrix input, output;

 private:
  /// Adds the gradients of the windows of one block, which share noise words.
  void add_block(std::span<skip_gram_windows::window const> block, std::uint64_t number);
  /// Adds the gradients of all pairs of one window with one row of the output matrix.
  void add_output(std::int32_t row, bool label);
  void read_inputs(skip_gram_windows::window const& one);
  /// Replaces the sums of this rank with the sums over all ranks.
  void exchange();
  void check_ranks(token_stream const& tokens);
  double rate(std::int64_t position, std::int64_t tokens) const;
  std::string text_of_settings() const;

  std::unique_ptr<communicator> own_world_;
  communicator* world_;
  skip_gram_windows windows_;
  noise_words noise_;
  std::optional<huffman_tree> tree_;
  sparse_rows input_sums_, output_sums_;
  word2vec_position position_;
  std::int64_t checked_tokens_ = -1;
  std::int64_t pairs_ = 0;
  double loss_ = 0;
  std::vector<std::int32_t> drawn_;   // noise words of a block
  std::vector<std::int32_t> around_;  // words of a window without the centre
  std::vector<std::size_t> slots_;    // slots of around_ in input_sums_
  std::vector<std::byte> message_;
};

}  // namespace cohort::detail
