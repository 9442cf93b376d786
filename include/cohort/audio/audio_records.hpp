// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/audio/detail/implementation.hpp>
#include <cohort/audio/sound_settings.hpp>
#include <cohort/data/dataset.hpp>
#include <cohort/records/record_set.hpp>
#include <string>

namespace cohort::audio {

/// The fields of a record that contain a WAV file and its class.
struct sound_fields {
  std::string sound = "wav";
  std::string label = "cls";  ///< the class index as a decimal text
};

/// Returns a data set of the log-mel spectrograms of WAV files in records, such as those of a WebDataset. A
/// record is read, decoded and transformed on the thread that requests the example.
///
/// Shapes    as for audio_folder.
/// Order     that of the records. settings.labels are the names of the classes 0, 1, ….
/// Errors    setting_error without settings.labels, for a label that occurs twice, and for a record set
///           without these fields; those of sound_settings. From get: data_error naming file and record for a
///           label that is not a class index, and for a sound that cannot be decoded or has another rate;
///           file_error.
dataset audio_records(record_set records, sound_settings settings, sound_fields const& fields = {});

}  // namespace cohort::audio
