// SPDX-License-Identifier: Apache-2.0
#include <cohort/audio/audio_records.hpp>
#include <cohort/audio/detail/sound_reader.hpp>
#include <cohort/data/class_folders.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/records/record_dataset.hpp>
#include <utility>

namespace cohort::audio {

dataset audio_records(record_set records, sound_settings settings, sound_fields const& fields) {
  if (settings.labels.empty())
    throw setting_error({.what = "the classes of the records are unknown",
                         .where = "sound_settings::labels",
                         .expected = "the names of the classes 0, 1, …",
                         .got = "none"});
  detail::require_unique(settings.labels);
  std::size_t const sound = records.field(fields.sound), label = records.field(fields.label);
  std::vector<std::string> const labels = settings.labels;
  detail::sound_reader reader(std::move(settings), labels);
  data_description const described = reader.describe();
  auto const last_class = static_cast<std::int64_t>(labels.size()) - 1;
  return decoded_records(
      std::move(records), described, [=, reader = std::move(reader)](record_view& record, example_view& out) {
        auto const number = static_cast<std::int32_t>(record.integer(label, 0, last_class));
        reader.write(record.bytes(sound), record.where(), record.key(), number, out);
      });
}

}  // namespace cohort::audio
