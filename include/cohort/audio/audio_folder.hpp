// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/audio/detail/sound_reader.hpp>
#include <cohort/audio/sound_settings.hpp>
#include <cohort/data/class_folders.hpp>
#include <cohort/data/dataset.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace cohort::audio {

/// Log-mel spectrograms of WAV files in folders named after their classes, folder/yes/1.wav, as an indexed
/// data set. get reads, decodes and transforms a file on the calling thread. Channels are averaged.
///
/// Shapes    input 1 × bands × frames f32, with frames = 1 + ⌊seconds·rate/hop⌋; label i32.
/// Units     dB; fit_normalisation computes mean and deviation.
/// Order     that of class_folders.
/// Errors    When constructed: those of class_folders::list and sound_settings; data_error for a file in a
///           class folder whose name does not end in .wav.
///           From get: file_error; data_error naming the file, also for a sound of another rate.
class audio_folder {
 public:
  explicit audio_folder(std::string folder, sound_settings settings = {});

  data_description const& describe() const& { return description_; }
  data_description describe() && { return description_; }  // outlives the temporary
  std::int64_t size() const { return static_cast<std::int64_t>(files_.paths.size()); }
  void get(std::int64_t i, example_view& out) const;
  std::int64_t label(std::int64_t i) const { return files_.classes[static_cast<std::size_t>(i)]; }

  /// Returns the names of the class folders, by label.
  std::vector<std::string> const& labels() const& { return files_.labels; }
  std::vector<std::string> const& labels() const&& = delete;  // keep the sounds in a variable

  /// Returns the names of the examples' files, such as "yes/1.wav", by index.
  std::vector<std::string> const& paths() const& { return files_.paths; }
  std::vector<std::string> const& paths() const&& = delete;  // keep the sounds in a variable

 private:
  std::string folder_;
  class_folders files_;
  detail::sound_reader reader_;
  data_description description_;
};

}  // namespace cohort::audio
