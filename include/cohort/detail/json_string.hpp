// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// JSON strings: UTF-8 without surrogates or overlong forms (RFC 3629), escaped according to RFC 8259.
namespace cohort::detail {

/// Returns the size in bytes of the first character; 0 if the text is empty or does not start with valid
/// UTF-8.
std::size_t utf8_length(std::string_view text);

/// Returns the position of the first byte that is not valid UTF-8; text.size() if all bytes are valid.
std::size_t invalid_utf8_at(std::string_view text);

/// Appends the UTF-8 encoding of a code point.  Before: code ≤ 0x10ffff and not a surrogate.
void append_utf8(std::string& out, std::uint32_t code);

/// Appends the text in quotes, with only the escapes that JSON requires.  Before: `text` is valid UTF-8.
void append_quoted(std::string& out, std::string_view text);

/// Returns the text in quotes for an error message: '?' replaces invalid bytes and the control characters
/// that JSON does not escape (U+007F to U+009F); text after 60 characters is cut.
std::string quote_for_error(std::string_view text);

/// Returns another process's text for an error message, on one line and without quotes. Replaces invalid
/// bytes and U+007F to U+009F by '?', and other control characters by a space; text after 2000 characters is
/// cut.
std::string make_printable(std::string_view text);

}  // namespace cohort::detail
