// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/data/detail/field_reader.hpp>
#include <cohort/detail/json_string.hpp>
#include <cohort/error/exceptions.hpp>
#include <cstring>
#include <utility>

namespace cohort::detail {

std::string field_reader::location(char const* position) const {
  if (position < located_.position) located_ = {begin_, how_.first_line};
  char const* p = located_.position;
  while (p != position) {
    void const* const line_feed = std::memchr(p, '\n', static_cast<std::size_t>(position - p));
    if (!line_feed) break;
    p = static_cast<char const*>(line_feed) + 1;
    ++located_.line;
    located_.column = 1;
  }
  located_.column += std::count_if(p, position, [](char c) { return (c & 0xc0) != 0x80; });
  located_.position = position;
  return text_of({where_, ':', located_.line, ':', located_.column});
}

void field_reader::refuse(char const* what, char const* position, std::string expected, std::string got,
                          std::string_view column) const {
  throw data_error({.what = what,
                    .where = {location(position), column.empty() ? "" : ", column ", column},
                    .expected = std::move(expected),
                    .got = std::move(got)});
}

std::string_view field_reader::unescaped(char const* opening, std::string& storage, char const*& nul) {
  char const* piece = opening + 1;
  storage.clear();
  while (end_ - at_ > 1 && at_[1] == '"') {
    storage.append(piece, at_ + 1);  // with the first of two quotes
    piece = at_ + 2;
    at_ = quote_after(piece, nul);
  }
  return storage.append(piece, at_);
}

void field_reader::refuse_size(std::size_t size, char const* start) const {
  refuse("a field is too long", start, text_of({"at most ", how_.max_bytes, " bytes"}),
         text_of({size, " bytes"}));
}

void field_reader::refuse_unquoted() const {
  if (*at_ == '\0') refuse_nul(at_);
  refuse("a carriage return is not followed by a line feed", at_, "LF or CR LF at the end of a line", "CR");
}

void field_reader::refuse_unterminated(char const* opening) const {
  refuse("a quoted field does not end", opening, "a closing quote", "the end of the text");
}

void field_reader::refuse_continued() const {
  refuse("a quoted field continues after its closing quote", at_, "a separator or the end of the line",
         quote_for_error({at_, std::min<std::size_t>(static_cast<std::size_t>(end_ - at_), 20)}));
}

void field_reader::refuse_nul(char const* position) const {
  refuse("a table contains a NUL byte", position, "text in UTF-8", "a NUL byte");
}

}  // namespace cohort::detail
