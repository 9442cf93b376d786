// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <cohort/audio/wav.hpp>
#include <cohort/detail/text.hpp>
#include <cohort/error/exceptions.hpp>
#include <cstring>
#include <numeric>
#include <optional>
#include <string_view>

namespace cohort::audio {

namespace {

[[noreturn]] void refuse_wav(std::string const& where, std::string const& expected, std::string const& got) {
  throw data_error({.what = "cannot decode the WAV file", .where = where, .expected = expected, .got = got});
}

/// A part of the file: its name of four letters and its content.
struct chunk {
  std::string_view name;
  std::span<std::byte const> content;
};

std::uint64_t little_endian(std::span<std::byte const> bytes) {
  std::uint64_t value = 0;
  for (std::size_t k = 0; k < bytes.size(); ++k) value |= std::to_integer<std::uint64_t>(bytes[k]) << (8 * k);
  return value;
}

/// Removes the first chunk from `rest`.
chunk next_chunk(std::span<std::byte const>& rest, std::string const& where) {
  if (rest.size() < 8) refuse_wav(where, "an undamaged file", "one that ends before its samples");
  std::string_view const name(reinterpret_cast<char const*>(rest.data()), 4);
  std::uint64_t length = little_endian(rest.subspan(4, 4));
  rest = rest.subspan(8);
  constexpr std::uint64_t unknown = 0xffffffff;
  if (name == "data" && length == unknown) length = rest.size();
  if (length > rest.size())
    refuse_wav(where, "an undamaged file",
               detail::text_of({rest.size(), " of ", length, " bytes of the chunk '", name, "'"}));
  chunk const found{name, rest.first(static_cast<std::size_t>(length))};
  std::size_t const padded = static_cast<std::size_t>(length + length % 2);
  rest = rest.subspan(std::min(padded, rest.size()));
  return found;
}

enum wav_encoding : std::uint64_t { wav_pcm = 1, wav_float = 3, wav_extensible = 0xfffe };

struct wav_format {
  std::uint64_t encoding = 0, channels = 0, rate = 0, bits = 0;
};

wav_format format_in(std::span<std::byte const> content, std::string const& where) {
  if (content.size() < 16) refuse_wav(where, "a format of at least 16 bytes", std::to_string(content.size()));
  auto const number = [&](std::size_t position, std::size_t width) {
    return little_endian(content.subspan(position, width));
  };
  wav_format found{
      .encoding = number(0, 2), .channels = number(2, 2), .rate = number(4, 4), .bits = number(14, 2)};
  if (found.encoding == wav_extensible && content.size() >= 26) found.encoding = number(24, 2);
  bool const is_known = (found.encoding == wav_pcm
                         && (found.bits == 8 || found.bits == 16 || found.bits == 24 || found.bits == 32))
                        || (found.encoding == wav_float && (found.bits == 32 || found.bits == 64));
  if (!is_known)
    refuse_wav(where, "PCM of 8, 16, 24 or 32 bits, or floating point of 32 or 64",
               detail::text_of({"encoding ", found.encoding, " of ", found.bits, " bits"}));
  constexpr std::uint64_t most_hertz = 0x7fffffff;
  if (found.channels < 1 || found.rate < 1 || found.rate > most_hertz)
    refuse_wav(where, "at least one channel and a rate from 1 to 2147483647 Hz",
               detail::text_of({found.channels, " channels, ", found.rate, " Hz"}));
  return found;
}

float sample_of(std::span<std::byte const> bytes, std::uint64_t encoding) {
  std::uint64_t const bits = little_endian(bytes);
  if (encoding == wav_float)
    return bytes.size() == 4 ? std::bit_cast<float>(static_cast<std::uint32_t>(bits))
                             : static_cast<float>(std::bit_cast<double>(bits));
  if (bytes.size() == 1) return (static_cast<float>(bits) - 128) / 128;
  auto const left_aligned =
      static_cast<std::int32_t>(static_cast<std::uint32_t>(bits << (32 - 8 * bytes.size())));
  return static_cast<float>(left_aligned) / 2147483648.0F;
}

}  // namespace

std::int64_t sound::frames() const { return static_cast<std::int64_t>(samples.size()) / channels; }

std::vector<float> sound::mono() const {
  if (channels == 1) return samples;
  std::vector<float> mean(static_cast<std::size_t>(frames()));
  auto from = samples.begin();
  for (float& value : mean) {
    value = std::accumulate(from, from + channels, 0.0F) / static_cast<float>(channels);
    from += channels;
  }
  return mean;
}

sound decoded_wav(std::span<std::byte const> file, std::string const& where) {
  std::string_view const text(reinterpret_cast<char const*>(file.data()), file.size());
  if (file.size() < 12 || !text.starts_with("RIFF") || text.substr(8, 4) != "WAVE")
    refuse_wav(where, "a file that begins with RIFF and WAVE",
               file.empty() ? "an empty file" : "another format");
  std::span<std::byte const> rest = file.subspan(12);
  std::optional<wav_format> format;
  for (;;) {
    auto const [name, content] = next_chunk(rest, where);
    if (name == "fmt ") format = format_in(content, where);
    if (name != "data") continue;
    if (!format) refuse_wav(where, "the format before the samples", "none");
    std::size_t const width = static_cast<std::size_t>(format->bits / 8);
    std::size_t const frame = width * static_cast<std::size_t>(format->channels);
    std::size_t const count = content.size() / frame * static_cast<std::size_t>(format->channels);
    sound decoded{.rate = static_cast<int>(format->rate), .channels = static_cast<int>(format->channels)};
    decoded.samples.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      float const sample = sample_of(content.subspan(i * width, width), format->encoding);
      if (!std::isfinite(sample))
        refuse_wav(where, "finite samples", detail::text_of({"sample ", i, " is not"}));
      decoded.samples[i] = sample;
    }
    return decoded;
  }
}

}  // namespace cohort::audio
