// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/text/detail/word2vec_state.hpp>
#include <cohort/text/doc2vec_settings.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cohort::detail {

/// State of a doc2vec object.
class doc2vec_state {
 public:
  doc2vec_state(word_vocabulary vocabulary, doc2vec_settings settings);

  std::vector<double> fit(std::span<std::int32_t const> tokens);
  std::vector<float> infer(std::span<std::int32_t const> tokens) const;
  void save(std::string const& path) const;
  void load(std::string const& path);

  std::int64_t documents() const { return static_cast<std::int64_t>(documents_.size()) / settings_.width; }
  std::span<float const> row(std::int64_t document) const;

 private:
  /// One visit of a document: the numbers that select its random choices, and the rate.
  struct visit {
    std::uint64_t epoch = 0, document = 0;
    double rate = 0;
  };
  struct loss_sum {
    double loss = 0;
    std::int64_t positions = 0;
  };

  /// Updates `vector`, and the rows of `inputs` and `outputs` unless these are empty.
  loss_sum update(std::span<std::int32_t const> text, visit const& by, std::span<float> vector,
                  std::span<float> inputs, std::span<float> outputs) const;
  std::vector<std::int32_t> kept_words(std::span<std::int32_t const> text, visit const& by) const;
  /// Sets h to the vector from which position i is predicted; `around`: the words of its window.
  void predict_from(std::span<std::int32_t const> kept, std::size_t i, std::size_t reach,
                    std::span<float const> vector, std::vector<std::int32_t>& around,
                    std::vector<float>& h) const;
  void require_known(std::span<std::int32_t const> tokens) const;
  void randomise(std::span<float> row, std::uint64_t document) const;
  double rate(double progress) const;
  std::string text_of_settings() const;

  word_vocabulary words_;
  doc2vec_settings settings_;
  noise_words noise_;
  std::vector<double> keep_;  // probability that a word is kept; empty: all are kept
  std::vector<float> documents_, inputs_, outputs_;
};

}  // namespace cohort::detail
