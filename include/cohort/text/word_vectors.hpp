// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/text/detail/implementation.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cohort {

/// Result of a query. `similarity`: cosine of the angle between the word's vector and the queried vector.
struct neighbour {
  std::string word;
  double similarity = 0;
};

/// Format of a file of word vectors, as written and read by the original tool word2vec, by gensim and others.
///
/// text    a line "V D", then V lines "word x1 … xD"
/// binary  a line "V D", then V times: the word, a space, D little-endian f32, a line end
enum class vector_format : std::uint8_t { text, binary };

/// Vectors of words, and queries by the angle between them.
///
/// Errors    setting_error or data_error if there are no words, if a word is empty, contains a separator or
///           occurs twice, or if a number is not finite.
/// Source    Mikolov, Chen, Corrado and Dean, "Efficient Estimation of Word Representations in Vector Space",
///           2013; https://code.google.com/archive/p/word2vec
class word_vectors {
 public:
  /// Shapes    values: words × width.
  word_vectors(std::vector<std::string> words, int width, std::vector<float> values);
  word_vectors(word_vectors const& other);
  word_vectors(word_vectors&&) noexcept = default;
  word_vectors& operator=(word_vectors other) noexcept;
  ~word_vectors() = default;

  std::int32_t size() const { return static_cast<std::int32_t>(words_.size()); }
  int width() const { return width_; }
  std::vector<std::string> const& words() const& { return words_; }
  std::vector<std::string> const& words() const&& = delete;  // keep the vectors in a variable
  /// Returns the index of a word; nullopt if the word is unknown.
  std::optional<std::int32_t> find(std::string_view word) const;
  /// Returns the vector of a word.
  ///
  /// Errors    data_error if the word is unknown, also for the queries below.
  std::span<float const> vector_of(std::string_view word) const&;
  std::span<float const> vector_of(std::string_view word) const&& = delete;  // keep the vectors in a variable

  /// Returns the cosine of the angle between the vectors of two words; 0 if a vector is 0.
  double similarity(std::string_view a, std::string_view b) const;
  /// Returns the `count` words nearest to a word, without the word itself, the nearest one first.
  std::vector<neighbour> nearest(std::string_view word, int count = 10) const;
  /// Returns the words nearest to a vector.
  std::vector<neighbour> nearest(std::span<float const> vector, int count = 10) const;
  /// Returns the words that are to `c` as `b` is to `a`: the words, except a, b and c, whose vectors are
  /// nearest to b − a + c, computed from unit vectors. Example: analogy("man", "king", "woman") begins with
  /// "queen".
  std::vector<neighbour> analogy(std::string_view a, std::string_view b, std::string_view c,
                                 int count = 10) const;

  /// Writes a file atomically.
  ///
  /// Exact     both formats: reading returns the same bits.
  /// Errors    file_error.
  void save(std::string const& path, vector_format format = vector_format::text) const;
  /// Reads a file.
  ///
  /// Before    the file may be untrusted. Sizes are compared with the file's size before memory is allocated.
  /// Errors    file_error; data_error with the file and the word's index if the file is damaged.
  static word_vectors load(std::string const& path, vector_format format = vector_format::text);

 private:
  void index();
  std::span<float const> row(std::size_t i) const;
  std::vector<neighbour> nearest(std::span<double const> direction, int count,
                                 std::span<std::int32_t const> except) const;
  std::int32_t require(std::string_view word) const;

  std::vector<std::string> words_;
  int width_ = 0;
  std::vector<float> values_;
  std::vector<double> inverse_norms_;  // 0 for a vector of zeros
  std::unordered_map<std::string_view, std::int32_t> ids_;
};

}  // namespace cohort
