// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cohort/detail/json_string.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/tensor/finite.hpp>
#include <cohort/text/word_vectors.hpp>
#include <cstring>
#include <limits>
#include <utility>

namespace cohort {

namespace detail {

static_assert(std::endian::native == std::endian::little);

/// Reads the fields of a file of word vectors.
class vector_file {
 public:
  static constexpr std::size_t longest_word = 4096, longest_number = 64;

  explicit vector_file(std::string const& path) : file_(path), chunk_(1 << 16) {}

  std::uint64_t size() const { return file_.size(); }
  /// Sets the index of the word that is read next, for errors.
  void begin_word(std::int64_t number) { word_ = number; }

  /// Returns the next byte, or −1 at the end.
  int get() {
    if (next_ == end_) {
      end_ = file_.read(chunk_.data(), chunk_.size());
      next_ = 0;
      if (end_ == 0) return -1;
    }
    return static_cast<unsigned char>(chunk_[next_++]);
  }

  /// Skips leading separators, then reads a field and the separator after it. Returns the field.
  std::string field(std::size_t longest, char const* what) {
    std::string text;
    int byte = get();
    while (is_separator(byte)) byte = get();
    for (; byte >= 0 && !is_separator(byte); byte = get()) {
      if (text.size() == longest) refuse({what, " of at most ", longest, " bytes"}, "more");
      text += static_cast<char>(byte);
    }
    last_ = byte;
    if (text.empty()) refuse(what, "the end of the file");
    return text;
  }
  /// Returns whether the last field ended with a line end.
  bool ended_line() const { return last_ == '\n'; }

  std::int64_t natural(char const* what) {
    std::string const text = field(longest_number, what);
    std::int64_t value = 0;
    auto const [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc() || stop != text.data() + text.size() || value < 1)
      refuse({what, ", at least 1"}, quote_for_error(text));
    return value;
  }
  float number() {
    std::string const text = field(longest_number, "a number");
    float value = 0;
    char const* const first = text.data() + (text[0] == '+' ? 1 : 0);
    auto const [stop, problem] = std::from_chars(first, text.data() + text.size(), value);
    bool const tiny = problem == std::errc::result_out_of_range && std::abs(std::strtod(first, nullptr)) < 1;
    if ((problem != std::errc() && !tiny) || stop != text.data() + text.size() || !is_finite(value))
      refuse("a finite number", quote_for_error(text));
    return tiny ? 0 : value;
  }
  float binary_number() {
    unsigned char bytes[sizeof(float)];
    for (unsigned char& one : bytes) {
      int const byte = get();
      if (byte < 0) refuse("4 bytes of a number", "the end of the file");
      one = static_cast<unsigned char>(byte);
    }
    float value;
    std::memcpy(&value, bytes, sizeof value);
    if (!is_finite(value)) refuse("a finite number", "NaN or infinity");
    return value;
  }
  /// Throws data_error unless only line ends and spaces follow.
  void end() {
    int byte = get();
    while (is_separator(byte)) byte = get();
    if (byte >= 0) refuse("the end of the file after the last word", "more bytes");
  }

  [[noreturn]] void refuse(clause expected, clause got) const {
    throw data_error(
        {.what = "cannot read the word vectors",
         .where = {file_.path(), word_ < 0 ? text_of({", first line"}) : text_of({", word ", word_})},
         .expected = std::move(expected),
         .got = std::move(got)});
  }

 private:
  static bool is_separator(int byte) { return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r'; }

  io::file_reader file_;
  std::vector<char> chunk_;
  std::size_t next_ = 0, end_ = 0;
  int last_ = -1;
  std::int64_t word_ = -1;
};

double wide_dot(std::span<float const> a, std::span<double const> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

}  // namespace detail

word_vectors::word_vectors(std::vector<std::string> words, int width, std::vector<float> values)
    : words_(std::move(words)), width_(width), values_(std::move(values)) {
  if (words_.empty() || words_.size() > std::numeric_limits<std::int32_t>::max())
    throw setting_error({.what = "the number of words is out of range",
                         .where = "word_vectors",
                         .expected = "1 to 2^31 - 1 words",
                         .got = {words_.size()}});
  if (width < 1)
    throw setting_error({.what = "the width of the vectors is not positive",
                         .where = "word_vectors",
                         .expected = "at least 1",
                         .got = {width}});
  if (values_.size() != words_.size() * static_cast<std::size_t>(width))
    throw setting_error({.what = "the number of values is not the number of words times the width",
                         .where = "word_vectors",
                         .expected = {words_.size(), " x ", width, " values"},
                         .got = {values_.size()}});
  for (std::size_t i = 0; i < words_.size(); ++i) {
    if (words_[i].empty() || words_[i].find_first_of(" \t\r\n") != std::string::npos)
      throw data_error({.what = "a word is empty or contains a separator",
                        .where = {"word ", i},
                        .expected = "bytes without spaces, tabs and line ends",
                        .got = detail::quote_for_error(words_[i])});
    double square = 0;
    for (float const x : row(i)) {
      if (!is_finite(x))
        throw data_error({.what = "a number of a word vector is not finite",
                          .where = {"word ", i, ", ", detail::quote_for_error(words_[i])},
                          .expected = "finite numbers",
                          .got = {static_cast<double>(x)}});
      square += static_cast<double>(x) * static_cast<double>(x);
    }
    inverse_norms_.push_back(square > 0 ? 1 / std::sqrt(square) : 0);
  }
  index();
}

word_vectors::word_vectors(word_vectors const& other)
    : words_(other.words_),
      width_(other.width_),
      values_(other.values_),
      inverse_norms_(other.inverse_norms_) {
  index();
}

word_vectors& word_vectors::operator=(word_vectors other) noexcept {
  words_.swap(other.words_);
  values_.swap(other.values_);
  inverse_norms_.swap(other.inverse_norms_);
  ids_.swap(other.ids_);
  std::swap(width_, other.width_);
  return *this;
}

void word_vectors::index() {
  ids_.reserve(words_.size());
  for (std::size_t i = 0; i < words_.size(); ++i)
    if (!ids_.emplace(words_[i], static_cast<std::int32_t>(i)).second)
      throw data_error({.what = "two word vectors have the same word",
                        .where = {"word ", i},
                        .expected = "different words",
                        .got = detail::quote_for_error(words_[i])});
}

std::span<float const> word_vectors::row(std::size_t i) const {
  auto const width = static_cast<std::size_t>(width_);
  return {values_.data() + i * width, width};
}

std::optional<std::int32_t> word_vectors::find(std::string_view word) const {
  auto const found = ids_.find(word);
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

std::int32_t word_vectors::require(std::string_view word) const {
  auto const found = find(word);
  if (!found)
    throw data_error(
        {.what = "the word has no vector",
         .where = "word_vectors",
         .expected = {"one of ", size(), " words, for example ", detail::quote_for_error(words_[0])},
         .got = detail::quote_for_error(word)});
  return *found;
}

std::span<float const> word_vectors::vector_of(std::string_view word) const& {
  return row(static_cast<std::size_t>(require(word)));
}

double word_vectors::similarity(std::string_view a, std::string_view b) const {
  auto const first = static_cast<std::size_t>(require(a)), second = static_cast<std::size_t>(require(b));
  std::vector<double> const direction(row(first).begin(), row(first).end());
  return detail::wide_dot(row(second), direction) * inverse_norms_[first] * inverse_norms_[second];
}

std::vector<neighbour> word_vectors::nearest(std::string_view word, int count) const {
  std::int32_t const self = require(word);
  std::span<float const> const from = row(static_cast<std::size_t>(self));
  return nearest(std::vector<double>(from.begin(), from.end()), count, {&self, 1});
}

std::vector<neighbour> word_vectors::nearest(std::span<float const> vector, int count) const {
  if (std::ssize(vector) != width_)
    throw shape_error({.what = "the vector has another width than the word vectors",
                       .where = "nearest",
                       .expected = {width_},
                       .got = {vector.size()}});
  return nearest(std::vector<double>(vector.begin(), vector.end()), count, {});
}

std::vector<neighbour> word_vectors::analogy(std::string_view a, std::string_view b, std::string_view c,
                                             int count) const {
  std::int32_t const words[]{require(a), require(b), require(c)};
  double const signs[]{-1, 1, 1};
  std::vector<double> direction(static_cast<std::size_t>(width_));
  for (std::size_t k = 0; k < 3; ++k) {
    auto const i = static_cast<std::size_t>(words[k]);
    for (std::size_t x = 0; x < direction.size(); ++x)
      direction[x] += signs[k] * inverse_norms_[i] * static_cast<double>(row(i)[x]);
  }
  return nearest(direction, count, words);
}

std::vector<neighbour> word_vectors::nearest(std::span<double const> direction, int count,
                                             std::span<std::int32_t const> except) const {
  if (count < 0)
    throw setting_error({.what = "the number of neighbours is negative",
                         .where = "count",
                         .expected = "at least 0",
                         .got = {count}});
  double square = 0;
  for (double const x : direction) square += x * x;
  double const scale = square > 0 ? 1 / std::sqrt(square) : 0;
  std::vector<std::pair<double, std::size_t>> all;
  for (std::size_t i = 0; i < words_.size(); ++i)
    if (std::ranges::find(except, static_cast<std::int32_t>(i)) == except.end())
      all.emplace_back(detail::wide_dot(row(i), direction) * scale * inverse_norms_[i], i);
  auto const most = static_cast<std::ptrdiff_t>(std::min(static_cast<std::size_t>(count), all.size()));
  std::partial_sort(all.begin(), all.begin() + most, all.end(), [](auto const& a, auto const& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  std::vector<neighbour> found;
  for (auto one = all.begin(); one != all.begin() + most; ++one)
    found.push_back({words_[one->second], one->first});
  return found;
}

void word_vectors::save(std::string const& path, vector_format format) const {
  io::file_writer file(path);
  file.write(detail::text_of({size(), " ", width_, "\n"}));
  std::string line;
  for (std::size_t i = 0; i < words_.size(); ++i) {
    line = words_[i];
    if (format == vector_format::binary) {
      line += ' ';
      line.append(reinterpret_cast<char const*>(row(i).data()), row(i).size_bytes());
    }
    for (std::size_t k = 0; format == vector_format::text && k < row(i).size(); ++k) {
      char digits[32];
      line += ' ';
      line.append(digits, std::to_chars(digits, digits + sizeof digits, row(i)[k]).ptr);
    }
    line += '\n';
    file.write(line);
  }
  file.commit();
}

word_vectors word_vectors::load(std::string const& path, vector_format format) {
  detail::vector_file file(path);
  auto const count = static_cast<std::uint64_t>(file.natural("the number of words"));
  auto const width = static_cast<std::uint64_t>(file.natural("the width"));
  bool const text = format == vector_format::text;
  // A word needs at least one byte and a separator. Each number in the text format needs the same.
  std::uint64_t const row_bytes =
      width > file.size() ? file.size() : 2 + width * (text ? 2 : sizeof(float)) - 1;
  if (width > file.size() || count > file.size() / row_bytes)
    file.refuse({"at most ", width > file.size() ? 0 : file.size() / row_bytes, " words of ", width,
                 " numbers in ", file.size(), " bytes"},
                {count});
  std::vector<std::string> words;
  std::vector<float> values;
  words.reserve(count);
  values.reserve(count * width);
  for (std::uint64_t i = 0; i < count; ++i) {
    file.begin_word(static_cast<std::int64_t>(i));
    words.push_back(file.field(detail::vector_file::longest_word, "a word"));
    if (file.ended_line()) file.refuse({width, " numbers after the word"}, "a line end");
    for (std::uint64_t k = 0; k < width; ++k) {
      values.push_back(text ? file.number() : file.binary_number());
      if (text && file.ended_line() && k + 1 < width) file.refuse({width, " numbers"}, {k + 1});
    }
  }
  file.end();
  try {
    return {std::move(words), static_cast<int>(width), std::move(values)};
  } catch (data_error const& refused) {
    refusal const& why = refused.why();
    throw data_error(
        {.what = why.what, .where = {path, ", ", why.where}, .expected = why.expected, .got = why.got});
  }
}

}  // namespace cohort
