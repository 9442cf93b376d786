// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <cohort/codec/message_codec.hpp>
#include <cohort/execution/isa.hpp>
#include <cohort/random/stream.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

/// Shared by the codec tests: numbers distributed like a gradient's, and messages as bytes with their own
/// memory.

inline std::vector<cohort::isa> usable_isas() {
  std::vector<cohort::isa> list;
  for (cohort::isa const which : {cohort::isa::baseline, cohort::isa::avx2, cohort::isa::avx512})
    if (which <= cohort::machine_isa()) list.push_back(which);
  return list;
}

/// Heavy tails: normal numbers, each multiplied by a random power of 2, up to 2^±4.
inline std::vector<float> gradient(std::size_t n, std::uint64_t seed, float scale = 1) {
  cohort::random_stream const stream(seed, "gradient");
  std::vector<float> x(n);
  for (std::size_t i = 0; i < n; ++i)
    x[i] = std::ldexp(stream.normal<float>(i) * scale, static_cast<int>(stream.bits(i) % 9) - 4);
  return x;
}

using message_bytes = std::vector<std::byte>;
inline message_bytes kept(std::span<std::byte const> message) { return {message.begin(), message.end()}; }

inline cohort::message_header header_in(std::span<std::byte const> message) {
  cohort::message_header header;
  std::memcpy(static_cast<void*>(&header), message.data(), sizeof header);
  return header;
}

/// Replaces the header of a message and corrects the checksum.
inline message_bytes resealed(message_bytes message, cohort::message_header header) {
  std::memcpy(message.data(), &header, sizeof header);
  header.crc = cohort::detail::message_crc(cohort::isa::baseline, message);
  std::memcpy(message.data(), &header, sizeof header);
  return message;
}
inline message_bytes resealed(message_bytes const& message) { return resealed(message, header_in(message)); }
