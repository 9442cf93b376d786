// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cohort/audio/mel_spectrogram.hpp>
#include <cohort/error/exceptions.hpp>
#include <complex>
#include <numbers>
#include <vector>

#include "../data/refused.hpp"
#include "../golden/golden_cases.hpp"

namespace mel_spectrogram_test {

using cohort::audio::mel_settings;
using cohort::audio::mel_spectrogram;
using cohort::detail::fourier_transform;

TEST(mel_spectrogram, equals_librosa) {
  auto const cases = read_golden_cases("mel.txt");
  ASSERT_EQ(cases.size(), 4U);
  for (auto const& [name, golden] : cases) {
    auto const number = [&, &golden = golden](char const* key) { return numbers_of(golden, key)[0]; };
    mel_settings how{.rate = static_cast<int>(number("rate")),
                     .window = static_cast<int>(number("window")),
                     .hop = static_cast<int>(number("hop")),
                     .bands = static_cast<int>(number("bands")),
                     .low = number("low"),
                     .high = number("high"),
                     .unit_area = number("area") == 1};
    if (number("htk") == 1) how.scale = cohort::audio::mel_scale::htk;
    if (number("reflect") == 1) how.edges = cohort::audio::padding::reflect;
    auto const samples = static_cast<std::int64_t>(number("samples"));
    std::vector<float> sound;
    for (std::int64_t i = 0; i < samples; ++i) {
      bool const is_silent = i >= samples / 2 && i < samples / 2 + 2 * how.window;
      sound.push_back(
          is_silent ? 0
                    : static_cast<float>(static_cast<double>((31 * i * i + 17 * i) % 2001 - 1000) / 1000));
    }
    mel_spectrogram const spectrogram(how);
    golden_tensor const& expected = golden.at("decibels").at(0);
    ASSERT_EQ(spectrogram.size(samples), expected.dims) << name;
    std::vector<float> made(expected.values.size());
    spectrogram.write(sound, made);
    for (std::size_t i = 0; i < made.size(); ++i) ASSERT_NEAR(made[i], expected.values[i], 1e-4) << name << i;
  }
}

TEST(mel_spectrogram, has_its_peak_at_the_pitch_of_a_tone) {
  mel_spectrogram const spectrogram(
      {.rate = 8000, .window = 256, .hop = 128, .bands = 20, .scale = cohort::audio::mel_scale::htk});
  std::vector<float> tone, made(20 * 9);
  for (int i = 0; i < 1024; ++i)
    tone.push_back(static_cast<float>(std::sin(2 * std::numbers::pi * 1000 * i / 8000)));
  spectrogram.write(tone, made);
  // 1000 Hz is 1000 mel; band b has its peak at (b + 1)·2146.06/21 mel, so the nearest one is band 9.
  for (std::size_t band = 0; band < 20; ++band) EXPECT_LE(made[band * 9 + 4], made[9 * 9 + 4]) << band;
}

TEST(fourier_transform, equals_its_definition_for_all_factors) {
  for (int const n : {1, 2, 3, 7, 12, 50, 64, 90, 121}) {
    std::vector<std::complex<double>> from, to(static_cast<std::size_t>(n));
    for (int j = 0; j < n; ++j) from.emplace_back((j * j * 7) % 11 - 5, j % 3);
    fourier_transform const transform(n);
    transform(from.data(), to.data());
    for (int k = 0; k < n; ++k) {
      std::complex<double> sum = 0;
      for (int j = 0; j < n; ++j)
        sum += from[static_cast<std::size_t>(j)] * std::polar(1.0, -2 * std::numbers::pi * (j * k % n) / n);
      EXPECT_LT(std::abs(to[static_cast<std::size_t>(k)] - sum), 1e-10) << n << ' ' << k;
    }
  }
}

TEST(mel_spectrogram, refuses_invalid_settings_and_sizes) {
  auto const refusal_of = [](mel_settings const& how) {
    return refused<cohort::setting_error>([&] { mel_spectrogram{how}; });
  };
  expect_parts(refusal_of({.rate = 0}), {"(mel_settings::rate)", "at least 1 Hz, got 0"});
  expect_parts(refusal_of({.window = 401}), {"(mel_settings::window)", "an even number", "got 401"});
  expect_parts(refusal_of({.window = 131'072}), {"(mel_settings::window)", "up to 65536"});
  expect_parts(refusal_of({.hop = 0}), {"(mel_settings::hop)", "got 0"});
  expect_parts(refusal_of({.bands = 401}), {"(mel_settings::bands)", "got 401"});
  expect_parts(refusal_of({.low = 8000}), {"(mel_settings::low)", "got 8000"});
  expect_parts(refusal_of({.low = 100, .high = 100}), {"(mel_settings::high)", "got 100"});
  expect_parts(refusal_of({.high = 8001}), {"(mel_settings::high)", "got 8001"});
  expect_parts(refusal_of({.floor = 0}), {"(mel_settings::floor)", "got 0"});
  expect_parts(refusal_of({.window = 64, .bands = 40}),
               {"contains no frequency", "band 0", "40 bands, a window of 64"});
  mel_spectrogram const reflected({.edges = cohort::audio::padding::reflect});
  std::vector<float> sound(200), made(160);
  expect_parts(refused<cohort::shape_error>([&] { reflected.write(sound, made); }),
               {"too short", "more than 200", "got 200"});
  expect_parts(
      refused<cohort::shape_error>([&] { mel_spectrogram().write(sound, std::span(made).first(159)); }),
      {"another size", "expected 160", "got 159"});
}

}  // namespace mel_spectrogram_test
