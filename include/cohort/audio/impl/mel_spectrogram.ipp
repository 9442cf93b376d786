// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cohort/audio/mel_spectrogram.hpp>
#include <cohort/error/exceptions.hpp>
#include <complex>
#include <numbers>

namespace cohort::audio {

namespace {

// Slaney's scale: 200/3 Hz per mel up to 1000 Hz; above, 27 mel for a factor of 6.4.
constexpr double hertz_per_mel = 200.0 / 3, knee_hertz = 1000, knee_mel = knee_hertz / hertz_per_mel;
double const log_step = std::log(6.4) / 27;

double mel_of(double hertz, mel_scale scale) {
  if (scale == mel_scale::htk) return 2595 * std::log10(1 + hertz / 700);
  return hertz < knee_hertz ? hertz / hertz_per_mel : knee_mel + std::log(hertz / knee_hertz) / log_step;
}

double hertz_of(double mel, mel_scale scale) {
  if (scale == mel_scale::htk) return 700 * (std::pow(10, mel / 2595) - 1);
  return mel < knee_mel ? mel * hertz_per_mel : knee_hertz * std::exp(log_step * (mel - knee_mel));
}

void check(mel_settings const& settings) {
  auto const require = [](bool holds, char const* field, char const* expected, double got) {
    if (!holds)
      throw setting_error({.what = "invalid settings of a mel spectrogram",
                           .where = {"mel_settings::", field},
                           .expected = expected,
                           .got = {got}});
  };
  require(settings.rate >= 1, "rate", "at least 1 Hz", settings.rate);
  require(settings.window >= 2 && settings.window <= 65'536 && settings.window % 2 == 0, "window",
          "an even number of samples, up to 65536", settings.window);
  require(settings.hop >= 1, "hop", "at least 1 sample", settings.hop);
  require(settings.bands >= 1 && settings.bands <= settings.window, "bands",
          "at least 1, at most the window's samples", settings.bands);
  require(settings.low >= 0 && settings.low < settings.rate / 2.0, "low",
          "at least 0 Hz, below half the rate", settings.low);
  require(settings.high == 0 || (settings.high > settings.low && settings.high <= settings.rate / 2.0),
          "high", "0, or above low and at most half the rate", settings.high);
  require(settings.floor > 0 && std::isfinite(settings.floor), "floor", "a finite number above 0",
          settings.floor);
}

mel_settings checked(mel_settings const& settings) {
  check(settings);
  return settings;
}

}  // namespace

mel_spectrogram::mel_spectrogram(mel_settings settings)
    : settings_(checked(settings)), transform_(settings_.window) {
  for (int i = 0; i < settings_.window; ++i)
    weights_.push_back(0.5 - 0.5 * std::cos(2 * std::numbers::pi * i / settings_.window));
  double const high = settings_.high == 0 ? settings_.rate / 2.0 : settings_.high;
  double const first = mel_of(settings_.low, settings_.scale), last = mel_of(high, settings_.scale);
  std::vector<double> corners;  // in Hz: of a band its begin, peak and end are three consecutive corners
  for (int i = 0; i < settings_.bands + 2; ++i)
    corners.push_back(hertz_of(first + (last - first) * i / (settings_.bands + 1), settings_.scale));
  for (std::size_t b = 0; b + 2 < corners.size(); ++b) bands_.push_back(band_of(corners.data() + b, b));
}

mel_spectrogram::band mel_spectrogram::band_of(double const* corners, std::size_t number) const {
  auto const [begin, peak, end] = std::array{corners[0], corners[1], corners[2]};
  band triangle;
  for (int k = 0; k <= settings_.window / 2; ++k) {
    double const hertz = static_cast<double>(k) * settings_.rate / settings_.window;
    double const weight = std::min((hertz - begin) / (peak - begin), (end - hertz) / (end - peak));
    if (weight <= 0) continue;
    if (triangle.weights.empty()) triangle.first = static_cast<std::size_t>(k);
    triangle.weights.push_back(settings_.unit_area ? weight * 2 / (end - begin) : weight);
  }
  if (triangle.weights.empty())
    throw setting_error({.what = "a band of the mel spectrogram contains no frequency of the window",
                         .where = {"band ", number, ", ", begin, " to ", end, " Hz"},
                         .expected = "fewer bands or a longer window",
                         .got = {settings_.bands, " bands, a window of ", settings_.window, " samples"}});
  return triangle;
}

shape mel_spectrogram::size(std::int64_t samples) const {
  return {settings_.bands, static_cast<int>(1 + samples / settings_.hop)};
}

double mel_spectrogram::sample(std::span<float const> sound, std::int64_t i) const {
  auto const count = static_cast<std::int64_t>(sound.size());
  if (settings_.edges == padding::reflect) i = i < 0 ? -i : i >= count ? 2 * (count - 1) - i : i;
  return i < 0 || i >= count ? 0 : sound[static_cast<std::size_t>(i)];
}

void mel_spectrogram::write(std::span<float const> sound, std::span<float> to) const {
  auto const samples = static_cast<std::int64_t>(sound.size());
  shape const dims = size(samples);
  std::int64_t const half = settings_.window / 2;
  if (settings_.edges == padding::reflect && samples <= half)
    throw shape_error({.what = "a sound is too short to be reflected at its ends",
                       .where = "mel_spectrogram",
                       .expected = {"more than ", half, " samples"},
                       .got = {samples}});
  if (static_cast<std::int64_t>(to.size()) != dims.elements())
    throw shape_error({.what = "a mel spectrogram has another size",
                       .where = "mel_spectrogram",
                       .expected = {dims.elements(), " elements"},
                       .got = {to.size()}});
  std::size_t const window = transform_.size();
  std::vector<std::complex<double>> weighted(window), spectrum(window);
  auto const frames = static_cast<std::size_t>(dims[1]);
  for (std::size_t frame = 0; frame < frames; ++frame) {
    std::int64_t const first = static_cast<std::int64_t>(frame) * settings_.hop - half;
    for (std::size_t i = 0; i < window; ++i)
      weighted[i] = weights_[i] * sample(sound, first + static_cast<std::int64_t>(i));
    transform_(weighted.data(), spectrum.data());
    for (std::size_t b = 0; b < bands_.size(); ++b) {
      double power = 0;
      for (std::size_t k = 0; k < bands_[b].weights.size(); ++k)
        power += bands_[b].weights[k] * std::norm(spectrum[bands_[b].first + k]);
      to[b * frames + frame] = static_cast<float>(10 * std::log10(std::max(power, settings_.floor)));
    }
  }
}

}  // namespace cohort::audio
