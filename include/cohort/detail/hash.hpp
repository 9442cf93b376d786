// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
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

/// Returns a hash of a byte array, computed from 32 bytes at a time. Arrays of equal size that differ in only
/// one aligned word of 8 bytes have different hashes. The hash depends on the machine's byte order and must
/// not be stored in files.
inline std::uint64_t hash_of_bytes(std::span<std::byte const> bytes) {
  constexpr std::size_t lanes = 4, width = sizeof(std::uint64_t);
  auto const add = [](std::uint64_t hash, std::uint64_t word) {  // bijective in `hash` and in `word`
    word *= 0x9e3779b97f4a7c15;
    hash = (hash ^ word ^ word >> 32) * 0xff51afd7ed558ccd;
    return hash ^ hash >> 29;
  };
  auto const word_at = [&](std::size_t at, std::size_t count) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, count);
    return word;
  };
  std::uint64_t hashes[lanes]{1, 2, 3, 4};
  std::size_t at = 0;
  for (; at + lanes * width <= bytes.size(); at += lanes * width)
    for (std::size_t lane = 0; lane < lanes; ++lane)
      hashes[lane] = add(hashes[lane], word_at(at + lane * width, width));
  std::uint64_t hash = add(0, bytes.size());
  for (; at + width <= bytes.size(); at += width) hash = add(hash, word_at(at, width));
  if (at < bytes.size()) hash = add(hash, word_at(at, bytes.size() - at));
  for (std::uint64_t const one : hashes) hash = add(hash, one);
  return hash;
}

/// Returns a hash of names, which identifies the purpose of a random stream. The hashes of ("fc1", "weights")
/// and ("fc", "1weights") differ.
template <class... Name>
constexpr std::uint64_t purpose_of(std::string_view first, Name const&... more) {
  std::uint64_t hash = fnv1a(first);
  ((hash = fnv1a(std::string_view(more), fnv1a(std::string_view("\0", 1), hash))), ...);
  return hash;
}

}  // namespace cohort::detail
