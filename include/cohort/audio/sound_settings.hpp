// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/audio/mel_spectrogram.hpp>
#include <cstddef>
#include <string>
#include <vector>

namespace cohort::audio {

/// Conversion of sounds to examples, for audio_folder and audio_records.
///
/// Errors    setting_error for invalid settings of the spectrogram, and if an example has no samples or more
///           than 2^28.
struct sound_settings {
  double seconds = 1;  ///< of each example: longer sounds are cut, shorter ones are followed by silence
  mel_settings spectrogram = {};
  std::vector<std::string> labels = {};  ///< names of the classes 0, 1, …; empty: the folders found, sorted
  bool keyed = false;                    ///< use each file's path, or each record's key, as the example's key
  std::size_t max_file_bytes = std::size_t{1} << 28;
};

}  // namespace cohort::audio
