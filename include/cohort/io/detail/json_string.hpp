// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// Strings as JSON has them: UTF-8 without surrogates or overlong forms (RFC 3629), escaped as RFC 8259 says.
namespace cohort::detail {

/// The bytes of the character that begins `text`; 0 if these bytes begin none.
std::size_t utf8_length(std::string_view text);

/// The first byte that belongs to no character; text.size() if there is none.
std::size_t invalid_utf8_at(std::string_view text);

/// Before: code ≤ 0x10ffff and no surrogate.
void append_utf8(std::string& out, std::uint32_t code);

/// Appends a valid UTF-8 text in quotes, escaping what JSON requires and no more.
void append_quoted(std::string& out, std::string_view text);

/// A text in quotes for an error: hostile bytes become '?', what is long is cut at 60 characters.
std::string shown(std::string_view text);

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/io/impl/json_string.ipp>
#endif
