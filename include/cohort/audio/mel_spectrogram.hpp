// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/audio/detail/fourier_transform.hpp>
#include <cohort/audio/detail/implementation.hpp>
#include <cohort/tensor/shape.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cohort::audio {

/// Definition of mel, the unit of pitch. htk: 2595·log10(1 + f/700). slaney: linear up to 1000 Hz, then
/// logarithmic, as in Slaney's Auditory Toolbox.
enum class mel_scale : std::uint8_t { slaney, htk };

/// Samples before the first and after the last one.
enum class padding : std::uint8_t { zeros, reflect };

/// Definition of a logarithmic mel spectrogram. librosa's definitions are the defaults; those of torchaudio's
/// MelSpectrogram are `.scale = mel_scale::htk, .unit_area = false, .edges = padding::reflect`.
struct mel_settings {
  int rate = 16'000;  ///< frames per second of the sound
  int window = 400;   ///< samples of a window, even, up to 65536; its weights are a periodic Hann window
  int hop = 160;      ///< samples from one window to the next
  int bands = 80;
  double low = 0;   ///< frequency in Hz at which the first band begins
  double high = 0;  ///< frequency at which the last band ends; 0: rate / 2
  mel_scale scale = mel_scale::slaney;
  bool unit_area = true;  ///< divides each band by half of its width in Hz
  padding edges = padding::zeros;
  double floor = 1e-10;  ///< smallest power
};

/// Computes logarithmic mel spectrograms.
///
///     samples ──> windows, centred at 0, hop, 2·hop, … ──> |DFT|² ──> triangles on the mel scale ──> dB
///
/// Shapes    bands × frames; a sound of n samples has 1 + ⌊n/hop⌋ frames.
/// Units     10·log10(max(power, floor)).
/// Errors    setting_error for invalid settings, also for a band that is narrower than the distance of two
///           frequencies of the DFT and therefore always 0.
/// Exact     computed in f64, rounded to f32; independent of threads. The values equal librosa 0.11's
///           (melspectrogram with power 2 and power_to_db with top_db None) to 1e-4 dB.
/// Source    librosa.filters.mel; Young et al., The HTK Book 3.4, 5.6; Slaney, Auditory Toolbox 2, 1998.
class mel_spectrogram {
 public:
  explicit mel_spectrogram(mel_settings settings = {});

  mel_settings const& settings() const { return settings_; }
  shape size(std::int64_t samples) const;

  /// Writes the spectrogram of a sound with one channel; `to` has the shape size(sound.size()).
  ///
  /// Errors    shape_error if `to` has another size, or if the sound is too short to be reflected.
  void write(std::span<float const> sound, std::span<float> to) const;

 private:
  /// The weights of a band: of the frequencies from `first` on.
  struct band {
    std::size_t first = 0;
    std::vector<double> weights{};
  };

  band band_of(double const* corners, std::size_t number) const;
  double sample(std::span<float const> sound, std::int64_t i) const;

  mel_settings settings_;
  detail::fourier_transform transform_;
  std::vector<double> weights_;  // of the window
  std::vector<band> bands_;
};

}  // namespace cohort::audio
