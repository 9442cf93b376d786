// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cohort/audio/audio_folder.hpp>
#include <cohort/error/exceptions.hpp>
#include <filesystem>
#include <fstream>
#include <numbers>

#include "../checkpoint/scratch_folder.hpp"
#include "../data/refused.hpp"
#include "wav_bytes.hpp"

namespace audio_folder_test {

using cohort::audio::audio_folder;
using cohort::audio::sound_settings;

constexpr int rate = 8000;

sound_settings const quarter_second{.seconds = 0.25,
                                    .spectrogram = {.rate = rate, .window = 256, .hop = 125, .bands = 16}};

void put(std::string const& path, std::string const& bytes) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

std::vector<int> tone(double hertz, int samples) {
  std::vector<int> made;
  for (int i = 0; i < samples; ++i)
    made.push_back(static_cast<int>(8192 * std::sin(2 * std::numbers::pi * hertz * i / rate)));
  return made;
}

void fill(scratch_folder const& folder) {
  put(folder / "low/b.wav", wav_of(tone(300, 2000), rate));
  put(folder / "low/a.WAV", wav_of(tone(310, 500), rate));     // shorter than an example
  put(folder / "high/a.wav", wav_of(tone(2000, 9000), rate));  // longer
  put(folder / "low/.hidden", "no sound");
  put(folder / "notes.txt", "outside the classes");
}

TEST(audio_folder, delivers_spectrograms_of_a_fixed_length) {
  scratch_folder const folder;
  fill(folder);
  audio_folder const data(folder.path(), quarter_second);
  ASSERT_EQ(data.size(), 3);
  EXPECT_EQ(data.labels(), (std::vector<std::string>{"high", "low"}));
  EXPECT_EQ(data.paths(), (std::vector<std::string>{"high/a.wav", "low/a.WAV", "low/b.wav"}));
  EXPECT_EQ(data.describe().inputs[0].example, (cohort::shape{1, 16, 17}));
  EXPECT_EQ(data.describe().targets[0].classes, 2);
  cohort::example_view example;
  example.allocate(data.describe());
  std::vector<std::size_t> peaks;
  for (std::int64_t i = 0; i < 3; ++i) {
    data.get(i, example);
    EXPECT_EQ(*reinterpret_cast<std::int32_t const*>(example.at(1)), data.label(i));
    auto const* const values = reinterpret_cast<float const*>(example.at(0));
    std::size_t peak = 0;
    for (std::size_t band = 0; band < 16; ++band)
      if (values[band * 17 + 2] > values[peak * 17 + 2]) peak = band;
    peaks.push_back(peak);
    // The short sound is followed by silence.
    if (i == 1) {
      EXPECT_FLOAT_EQ(values[3 * 17 + 12], -100);
    }
  }
  EXPECT_GT(peaks[0], peaks[1] + 3);
  EXPECT_EQ(peaks[1], peaks[2]);
}

TEST(audio_folder, names_examples_and_orders_classes_as_requested) {
  scratch_folder const folder;
  fill(folder);
  sound_settings how = quarter_second;
  how.labels = {"low", "high"};
  how.keyed = true;
  audio_folder const data(folder.path(), how);
  cohort::example_view example;
  example.allocate(data.describe());
  data.get(2, example);
  EXPECT_EQ(example.key, "high/a.wav");
  EXPECT_EQ(data.label(2), 1);
}

TEST(audio_folder, refuses_other_files_rates_and_settings) {
  scratch_folder const folder;
  fill(folder);
  put(folder / "high/z.wav", wav_of({1, 2, 3}, 44'100));
  audio_folder const data(folder.path(), quarter_second);
  cohort::example_view example;
  example.allocate(data.describe());
  expect_parts(refused<cohort::data_error>([&] { data.get(1, example); }),
               {"/high/z.wav", "another rate", "8000 Hz", "got 44100 Hz", "sox"});
  put(folder / "high/notes.txt", "text");
  expect_parts(refused<cohort::data_error>([&] { audio_folder(folder.path(), quarter_second); }),
               {"not a WAV file", "/high/notes.txt", "ends in .wav"});
  std::filesystem::remove(folder / "high/notes.txt");
  for (double const seconds : {0.0, -1.0, 1e9, std::nan("")}) {
    sound_settings how = quarter_second;
    how.seconds = seconds;
    expect_parts(refused<cohort::setting_error>([&] { audio_folder(folder.path(), how); }),
                 {"seconds", "samples"});
  }
  scratch_folder const empty;
  expect_parts(refused<cohort::data_error>([&] { audio_folder(empty.path()); }),
               {"no class folders", "CLASS/NAME.wav"});
}

}  // namespace audio_folder_test
