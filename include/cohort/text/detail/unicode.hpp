// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cohort::detail {

/// A character of a UTF-8 text.
struct utf8_character {
  char32_t code = 0;
  std::size_t bytes = 0;  // 1 to 4; 0: the bytes at this place are not UTF-8
};

/// Returns the character at byte `at`. Rejects overlong forms, surrogates and codes above 10FFFF.
///
/// Before    at < text.size().
/// Source    RFC 3629.
utf8_character utf8_at(std::string_view text, std::size_t at);

/// Returns a character's UTF-8 bytes.
std::string utf8_of(char32_t code);

/// Class of a character in the pattern that splits texts for byte pair encoding.
enum class character_class : std::uint8_t { letter, number, space, other };

/// Returns the class of a character.
///
/// Source    Unicode's categories L and N, and its property White_Space.
character_class class_of(char32_t code);

/// Returns the length in bytes of the first word of a text. Texts are split into words as in GPT-2, before
/// byte pair encoding. A word is an English contraction ('s, 'll, …), white space, or a run of letters, of
/// numbers or of other characters; one space may precede a run. A byte that is not UTF-8 has the class
/// `other`.
///
/// Before    !text.empty().
/// Source    the pattern in the encoder that OpenAI published with GPT-2.
std::size_t first_word(std::string_view text);

}  // namespace cohort::detail
