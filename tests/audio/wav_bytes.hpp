// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// The bytes of a number, least significant first.
inline std::string little(std::uint64_t number, int width) {
  std::string bytes;
  for (int k = 0; k < width; ++k) bytes += static_cast<char>(number >> (8 * k));
  return bytes;
}

inline std::string wav_chunk(std::string const& name, std::string const& content) {
  return name + little(content.size(), 4) + content + std::string(content.size() % 2, '\0');
}

inline std::string wav_format(int encoding, int channels, int rate, int bits) {
  auto const number = [](int value, int width) { return little(static_cast<std::uint64_t>(value), width); };
  int const frame = channels * bits / 8;
  return number(encoding, 2) + number(channels, 2) + number(rate, 4) + number(frame * rate, 4)
         + number(frame, 2) + number(bits, 2);
}

inline std::string wav_file(std::string const& chunks) {
  return "RIFF" + little(4 + chunks.size(), 4) + "WAVE" + chunks;
}

/// A file of 16-bit samples with one channel.
inline std::string wav_of(std::vector<int> const& samples, int rate) {
  std::string data;
  for (int const sample : samples) data += little(static_cast<std::uint64_t>(sample), 2);
  return wav_file(wav_chunk("fmt ", wav_format(1, 1, rate, 16)) + wav_chunk("data", data));
}

inline std::vector<std::byte> bytes_of(std::string const& text) {
  auto const* const first = reinterpret_cast<std::byte const*>(text.data());
  return {first, first + text.size()};
}
