// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <cohort/audio/wav.hpp>
#include <cohort/error/exceptions.hpp>
#include <limits>

#include "../data/refused.hpp"
#include "wav_bytes.hpp"

namespace wav_test {

using cohort::audio::decoded_wav;
using cohort::audio::sound;

sound decoded(std::string const& file) { return decoded_wav(bytes_of(file), "yes/1.wav"); }

std::string file_of(int encoding, int bits, std::string const& data, int channels = 1) {
  return wav_file(wav_chunk("fmt ", wav_format(encoding, channels, 8000, bits)) + wav_chunk("data", data));
}

std::string refusal_of(std::string const& file) {
  return refused<cohort::data_error>([&] { decoded(file); });
}

using numbers = std::vector<float>;

TEST(wav, decodes_integers_of_all_widths) {
  EXPECT_EQ(decoded(file_of(1, 8, {'\0', '\x80', '\xff', '\x40'})).samples,
            (numbers{-1, 0, 127 / 128.0F, -0.5F}));
  EXPECT_EQ(decoded(file_of(1, 16, little(0x8000, 2) + little(0x7fff, 2) + little(0xffff, 2))).samples,
            (numbers{-1, 32767 / 32768.0F, -1 / 32768.0F}));
  EXPECT_EQ(decoded(file_of(1, 24, little(0x800000, 3) + little(0x7fffff, 3) + little(1, 3))).samples,
            (numbers{-1, 8388607 / 8388608.0F, 1 / 8388608.0F}));
  EXPECT_EQ(decoded(file_of(1, 32, little(0x80000000U, 4) + little(0x40000000U, 4))).samples,
            (numbers{-1, 0.5F}));
}

TEST(wav, decodes_floating_point) {
  EXPECT_EQ(decoded(file_of(3, 32, little(std::bit_cast<std::uint32_t>(1.25F), 4))).samples, numbers{1.25F});
  EXPECT_EQ(decoded(file_of(3, 64, little(std::bit_cast<std::uint64_t>(-0.1), 8))).samples, numbers{-0.1F});
  for (float const bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()})
    expect_parts(refusal_of(file_of(3, 32, little(0, 4) + little(std::bit_cast<std::uint32_t>(bad), 4))),
                 {"yes/1.wav", "finite samples", "sample 1"});
}

TEST(wav, averages_channels_and_ignores_an_incomplete_frame) {
  sound const stereo = decoded(file_of(
      1, 16, little(0x4000, 2) + little(0, 2) + little(0x8000, 2) + little(0x4000, 2) + little(7, 2), 2));
  EXPECT_EQ(stereo.rate, 8000);
  EXPECT_EQ(stereo.channels, 2);
  EXPECT_EQ(stereo.frames(), 2);
  EXPECT_EQ(stereo.mono(), (numbers{0.25F, -0.25F}));
}

TEST(wav, skips_other_chunks_and_reads_the_extensible_format) {
  std::string const extensible = wav_format(0xfffe, 1, 44'100, 16) + little(22, 2) + little(16, 2)
                                 + little(4, 4) + little(1, 2) + std::string(14, 'x');
  std::string const chunks =
      wav_chunk("LIST", "abc") + wav_chunk("fmt ", extensible) + wav_chunk("fact", "1234");
  sound const made = decoded(wav_file(chunks + wav_chunk("data", little(0x2000, 2))));
  EXPECT_EQ(made.rate, 44'100);
  EXPECT_EQ(made.samples, numbers{0.25F});
  // A program that writes to a pipe does not know the length.
  EXPECT_EQ(decoded(wav_file(chunks + "data" + little(0xffffffff, 4) + little(0x2000, 2))).samples,
            numbers{0.25F});
}

TEST(wav, refuses_other_files_by_name) {
  expect_parts(refusal_of(""), {"yes/1.wav", "RIFF and WAVE", "an empty file"});
  expect_parts(refusal_of("RIFX\x10\0\0\0WAVEfmt "), {"RIFF and WAVE", "another format"});
  expect_parts(refusal_of(file_of(1, 12, "1234")), {"PCM of 8, 16, 24 or 32 bits", "encoding 1 of 12 bits"});
  expect_parts(refusal_of(file_of(0x11, 4, "1234")), {"encoding 17 of 4 bits"});
  expect_parts(refusal_of(file_of(1, 16, "1234", 0)), {"at least one channel", "0 channels, 8000 Hz"});
  expect_parts(refusal_of(wav_file(wav_chunk("fmt ", "short"))), {"a format of at least 16 bytes", "got 5"});
  expect_parts(refusal_of(wav_file(wav_chunk("data", "1234"))),
               {"the format before the samples", "got none"});
}

TEST(wav, refuses_files_truncated_anywhere) {
  std::string const whole = wav_of({1, 2, 3, 4, 5}, 8000);
  for (std::size_t n = 0; n < whole.size(); ++n)
    expect_parts(refusal_of(whole.substr(0, n)), {"cannot decode the WAV file (yes/1.wav"});
  EXPECT_EQ(decoded(whole).samples.size(), 5U);
}

}  // namespace wav_test
