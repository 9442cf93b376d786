// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/data/detail/decimal.hpp>
#include <cohort/detail/byte_words.hpp>
#include <cohort/tensor/finite.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cohort::detail {

/// Splits the text of a table into fields.
///
/// Errors    data_error with where:line:column (in characters).
class field_reader {
 public:
  struct format {
    char separator;
    bool trim;
    std::size_t max_bytes;        // limit for a field
    std::int64_t first_line = 1;  // number of the text's first line in its file
    bool merges = false;          // whether neighbouring separators are merged
    char comment = 0;
  };

  field_reader(std::string_view text, std::string const& where, format const& how)
      : begin_(text.data()),
        end_(text.data() + text.size()),
        at_(begin_),
        located_{begin_, how.first_line},
        where_(where),
        how_(how),
        separators_(static_cast<unsigned char>(how.separator) * each_byte) {
    if (how.first_line == 1 && text.starts_with("\xef\xbb\xbf")) located_.position = begin_ = at_ += 3;
    for (char const c : {how.separator, '\n', '\r', '\0'}) stops_[static_cast<unsigned char>(c)] = true;
  }

  char const* position() const { return at_; }
  char const* begin() const { return begin_; }
  char const* end() const { return end_; }
  void rewind(char const* position) { at_ = position; }
  bool at_end() const { return at_ == end_; }

  /// Skips empty lines and comments, and separators at the beginning of the row if they are merged.
  void skip_empty_lines() {
    for (;; read_line_end()) {
      if (how_.merges) skip_separators();
      if (at_ == end_) return;
      if (how_.comment != 0 && *at_ == how_.comment)
        while (at_ != end_ && !ends_line(at_)) ++at_;
      else if (!ends_line(at_))
        return;
    }
  }

  /// Reads a number up to the end of its field. Returns false, and reads nothing, if the field does not
  /// consist of a finite number alone.
  template <class T>
  bool read_number(T& value) {
    char const* const stop = parse_decimal(at_, end_, value);
    if (!stop || !is_finite(value) || !ends_field(stop)) return false;
    at_ = stop;
    return true;
  }

  /// Reads a field and returns its contents, without quotes. The view refers to the table's text or to
  /// `storage`.
  std::string_view read_text(std::string& storage) {
    char const* const start = at_;
    if (how_.trim) skip_blanks();
    std::string_view const contents = at_ != end_ && *at_ == '"' ? quoted(storage) : unquoted(start);
    if (contents.size() > how_.max_bytes) refuse_size(contents.size(), start);
    return contents;
  }

  /// Reads a separator; returns false at the end of the row.
  bool read_separator() {
    if (at_ == end_ || *at_ != how_.separator) return false;
    ++at_;
    if (!how_.merges) return true;
    skip_separators();
    return at_ != end_ && !ends_line(at_);
  }

  /// Reads the end of a row.
  void read_line_end() {
    if (at_ != end_ && *at_ == '\r') ++at_;
    if (at_ != end_ && *at_ == '\n') ++at_;
  }

  bool is_blank(char c) const { return (c == ' ' || c == '\t') && c != how_.separator; }
  std::string_view trimmed(std::string_view field) const {
    while (!field.empty() && is_blank(field.front())) field.remove_prefix(1);
    while (!field.empty() && is_blank(field.back())) field.remove_suffix(1);
    return field;
  }

  /// Returns a position as where:line:column. Calls with ascending positions take linear time in total.
  std::string location(char const* position) const;

  [[noreturn]] void refuse(char const* what, char const* position, std::string expected, std::string got,
                           std::string_view column = {}) const;

 private:
  void skip_separators() {
    while (at_ != end_ && *at_ == how_.separator) ++at_;
  }
  void skip_blanks() {
    while (at_ != end_ && is_blank(*at_)) ++at_;
  }

  /// Before: p != end_.
  bool ends_line(char const* p) const {
    return *p == '\n' || (*p == '\r' && (end_ - p == 1 || p[1] == '\n'));
  }
  bool ends_field(char const* p) const { return p == end_ || *p == how_.separator || ends_line(p); }

  std::string_view unquoted(char const* start) {
    at_ = stop_after(at_);
    if (!ends_field(at_)) refuse_unquoted();
    std::string_view const field(start, static_cast<std::size_t>(at_ - start));
    return how_.trim ? trimmed(field) : field;
  }

  /// Returns the position of the next separator, line break or NUL byte; the end if there is none.
  char const* stop_after(char const* p) const {
    while (end_ - p >= 8) {
      std::uint64_t const word = load_word(p);
      std::uint64_t const marks = mark_zeros(word ^ separators_) | mark_below(word, '\r' + 1);
      if (marks == 0) {
        p += 8;
        continue;
      }
      p += first_marked(marks);
      if (stops_[static_cast<unsigned char>(*p)]) return p;
      ++p;  // another control character
    }
    while (p != end_ && !stops_[static_cast<unsigned char>(*p)]) ++p;
    return p;
  }

  /// Returns the position of the next quote; the end if there is none. If `nul` is null, sets it to the first
  /// NUL byte before this position.
  char const* quote_after(char const* p, char const*& nul) const {
    while (end_ - p >= 8) {
      std::uint64_t const word = load_word(p);
      std::uint64_t const marks = mark_zeros(word ^ '"' * each_byte) | mark_zeros(word);
      if (marks == 0) {
        p += 8;
        continue;
      }
      p += first_marked(marks);
      if (*p == '"') return p;
      if (!nul) nul = p;
      ++p;
    }
    for (; p != end_ && *p != '"'; ++p)
      if (*p == 0 && !nul) nul = p;
    return p;
  }

  std::string_view quoted(std::string& storage) {
    char const* const opening = at_;
    char const* nul = nullptr;
    at_ = quote_after(opening + 1, nul);
    std::string_view contents(opening + 1, static_cast<std::size_t>(at_ - (opening + 1)));
    if (end_ - at_ > 1 && at_[1] == '"') contents = unescaped(opening, storage, nul);
    if (at_ == end_) refuse_unterminated(opening);
    if (nul) refuse_nul(nul);
    ++at_;
    if (how_.trim) skip_blanks();
    if (!ends_field(at_)) refuse_continued();
    return contents;
  }

  /// Reads a quoted field from its first doubled quote to the closing quote, and returns the field's
  /// contents.
  std::string_view unescaped(char const* opening, std::string& storage, char const*& nul);

  [[noreturn]] void refuse_size(std::size_t size, char const* start) const;
  [[noreturn]] void refuse_unquoted() const;
  [[noreturn]] void refuse_unterminated(char const* opening) const;
  [[noreturn]] void refuse_continued() const;
  [[noreturn]] void refuse_nul(char const* position) const;

  /// Position of the last call of `location`, with its line and column.
  struct located {
    char const* position;
    std::int64_t line = 1, column = 1;
  };

  char const* begin_;  // after a byte order mark
  char const* end_;
  char const* at_;
  mutable located located_;
  std::string const& where_;
  format how_;
  std::uint64_t separators_;
  std::array<bool, 256> stops_{};
};

}  // namespace cohort::detail
