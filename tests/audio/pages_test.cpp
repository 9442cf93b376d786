// SPDX-License-Identifier: Apache-2.0
// The program of docs/data.md that reads sounds, identical to the page (checked by tests/docs_test.py).
#include <gtest/gtest.h>

#include <cmath>
#include <cohort/audio/audio_folder.hpp>
#include <cohort/backend/reference.hpp>
#include <cohort/cohort.hpp>
#include <filesystem>
#include <fstream>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "wav_bytes.hpp"

namespace audio_page_test {

constexpr int rate = 16'000;

/// Eight sounds per class: tones of about 400 and 2000 Hz.
void write_sounds(std::string const& folder) {
  for (auto const& [label, hertz] : {std::pair{"low", 400}, std::pair{"high", 2000}}) {
    std::filesystem::create_directories(folder + '/' + label);
    for (int k = 0; k < 8; ++k) {
      std::vector<int> samples;
      for (int i = 0; i < rate / 2; ++i)
        samples.push_back(
            static_cast<int>(9000 * std::sin(2 * std::numbers::pi * (hertz + 10 * k) * i / rate)));
      std::ofstream(folder + '/' + label + '/' + std::to_string(k) + ".wav", std::ios::binary)
          << wav_of(samples, rate);
    }
  }
}

TEST(docs_audio, the_program_learns_to_distinguish_tones) {
  std::string const folder = testing::TempDir() + "cohort-audio-page";
  std::filesystem::create_directories(folder);
  std::filesystem::current_path(folder);
  write_sounds("speech/train");
  cohort::training run = cohort::trainer<cohort::reference<float>>(
      cohort::graph::build([](cohort::builder& b) {
        return b.input({1, 64, 51}) | cohort::conv2d{.filters = 2, .kernel = 5, .stride = 4} | cohort::relu{}
               | cohort::dense{.units = 2} | cohort::softmax_cross_entropy{};
      }),
      {.optimizer = {cohort::adam{.learning_rate = 0.01}}, .seed = 1});
  // clang-format off
cohort::audio::audio_folder words("speech/train", {.seconds = 0.5, .spectrogram = {.rate = 16'000, .bands = 64}});
run.normalise(cohort::fit_normalisation(words));
run.fit(std::move(words), {.batch = 4, .epochs = 20});
  // clang-format on
  cohort::audio::audio_folder const again("speech/train",
                                          {.seconds = 0.5, .spectrogram = {.rate = 16'000, .bands = 64}});
  EXPECT_EQ(run.evaluate(again).accuracy(), 1);
  std::filesystem::current_path(testing::TempDir());
  std::filesystem::remove_all(folder);
}

}  // namespace audio_page_test
