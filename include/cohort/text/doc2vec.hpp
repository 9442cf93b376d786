// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/text/doc2vec_settings.hpp>
#include <cohort/text/word_vocabulary.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace cohort {

namespace detail {
class doc2vec_state;
}

/// Learns a vector for each document of a text: paragraph vectors with negative sampling. One thread trains;
/// the object is not collective.
///
///     loss = −ln σ(h·u_w) − Σ ln σ(−h·u_n)        w a word of the document, n noise words
///     h    = d, or the mean of d and the vectors of the words around w
///
/// Shapes    documents × width; input words and output words, each words × width.
/// After     fit: every position of the text has updated the vectors by gradient descent, in the order of the
///           text. As in the original tool, d and each word around w receive the gradient of h undivided.
/// Errors    setting_error for invalid settings; data_error for a token outside the vocabulary.
/// Exact     the same seed and text give the same bits.
/// Source    Le and Mikolov, "Distributed Representations of Sentences and Documents", ICML 2014; noise
///           ∝ count^0.75 and subsampling as in word2vec.
class doc2vec {
 public:
  explicit doc2vec(word_vocabulary words, doc2vec_settings settings = {});
  doc2vec(doc2vec&&) noexcept;
  doc2vec& operator=(doc2vec&&) noexcept;
  ~doc2vec();

  /// Trains all epochs from new random vectors. Returns the mean loss per position of each epoch.
  ///
  /// `tokens`  result of word_vocabulary::encode: each line is a document. A document without known words
  ///           keeps its random vector
  std::vector<double> fit(std::span<std::int32_t const> tokens);

  std::int64_t documents() const;
  /// Returns the vector of a document of the text.
  ///
  /// Errors    shape_error if there is no document of this index.
  std::span<float const> vector_of(std::int64_t document) const&;
  std::span<float const> vector_of(std::int64_t document) const&& = delete;  // keep the object in a variable

  /// Learns the vector of a new document; the vectors of words stay fixed. Thread-safe.
  ///
  /// `tokens`  as for fit; ends of sentences are ignored
  std::vector<float> infer(std::span<std::int32_t const> tokens) const;

  /// Writes all vectors to a safetensors file.
  ///
  /// Errors    file_error.
  void save(std::string const& path) const;
  /// Restores the vectors that `save` has written.
  ///
  /// Errors    file_error; data_error if the file is damaged, or if its vocabulary or settings differ.
  void load(std::string const& path);

 private:
  std::unique_ptr<detail::doc2vec_state> state_;
};

}  // namespace cohort
