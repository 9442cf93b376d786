// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string_view>

namespace cohort::detail {

/// The hash of an empty text.
inline constexpr std::uint64_t fnv1a_offset = 0xcbf29ce484222325;

/// Returns the 64-bit FNV-1a hash. `start` continues an earlier hash: fnv1a("b", fnv1a("a")) == fnv1a("ab").
///
/// Source    Fowler, Noll, Vo; IETF draft draft-eastlake-fnv.
constexpr std::uint64_t fnv1a(std::string_view text, std::uint64_t start = fnv1a_offset) {
  std::uint64_t hash = start;
  for (char const c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3;
  }
  return hash;
}

/// Returns a random stream's purpose: a hash of names. ("fc1", "weights") and ("fc", "1weights") differ.
template <class... Name>
constexpr std::uint64_t purpose_of(std::string_view first, Name const&... more) {
  std::uint64_t hash = fnv1a(first);
  ((hash = fnv1a(std::string_view(more), fnv1a(std::string_view("\0", 1), hash))), ...);
  return hash;
}

}  // namespace cohort::detail
