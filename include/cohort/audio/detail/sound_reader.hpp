// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/audio/detail/implementation.hpp>
#include <cohort/audio/sound_settings.hpp>
#include <cohort/data/description.hpp>
#include <cohort/data/example_view.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort::detail {

/// Converts WAV files in memory to examples, for all data sets of sounds.
class sound_reader {
 public:
  sound_reader(audio::sound_settings settings, std::vector<std::string> labels);

  data_description describe() const;

  /// Writes an example. `key` must remain valid until the next example is requested.
  ///
  /// Errors    data_error naming `where` for a file that is too large or cannot be decoded, or for another
  ///           rate.
  void write(std::span<std::byte const> file, std::string const& where, std::string_view key,
             std::int32_t label, example_view& out) const;

  std::vector<std::string> const& labels() const { return settings_.labels; }
  std::size_t max_file_bytes() const { return settings_.max_file_bytes; }

 private:
  audio::sound_settings settings_;
  audio::mel_spectrogram spectrogram_;
  std::size_t samples_;  // of an example
  shape size_;           // of a spectrogram
};

}  // namespace cohort::detail
