// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cohort/audio/detail/sound_reader.hpp>
#include <cohort/audio/wav.hpp>
#include <cohort/error/exceptions.hpp>
#include <utility>

namespace cohort::detail {

namespace {

std::size_t samples_of(audio::sound_settings const& settings) {
  double const samples = std::round(settings.seconds * settings.spectrogram.rate);
  constexpr double most = 1 << 28;
  if (!(samples >= 1 && samples <= most))
    throw setting_error({.what = "invalid length of the examples",
                         .where = "sound_settings::seconds",
                         .expected = {"1 to ", most, " samples"},
                         .got = {settings.seconds, " seconds of ", settings.spectrogram.rate, " Hz"}});
  return static_cast<std::size_t>(samples);
}

}  // namespace

sound_reader::sound_reader(audio::sound_settings settings, std::vector<std::string> labels)
    : settings_(std::move(settings)),
      spectrogram_(settings_.spectrogram),
      samples_(samples_of(settings_)),
      size_(spectrogram_.size(static_cast<std::int64_t>(samples_))) {
  settings_.labels = std::move(labels);
}

data_description sound_reader::describe() const {
  return {.inputs = {{.name = "input",
                      .example = {1, size_[0], size_[1]},
                      .stored = element_type::f32,
                      .type = element_type::f32}},
          .targets = {{.name = "label",
                       .stored = element_type::i32,
                       .type = element_type::i32,
                       .classes = static_cast<int>(settings_.labels.size()),
                       .label_names = settings_.labels}},
          .masks = {},
          .keyed = settings_.keyed};
}

void sound_reader::write(std::span<std::byte const> file, std::string const& where, std::string_view key,
                         std::int32_t label, example_view& out) const {
  if (file.size() > settings_.max_file_bytes)
    throw data_error(
        {.what = "a WAV file is too large",
         .where = where,
         .expected = {"at most ", settings_.max_file_bytes, " bytes (sound_settings::max_file_bytes)"},
         .got = {file.size()}});
  audio::sound const decoded = audio::decoded_wav(file, where);
  if (decoded.rate != settings_.spectrogram.rate)
    throw data_error({.what = "a sound has another rate",
                      .where = where,
                      .expected = {settings_.spectrogram.rate, " Hz (mel_settings::rate)"},
                      .got = {decoded.rate, " Hz: convert it, for example by `sox IN -r RATE OUT`"}});
  std::vector<float> samples = decoded.mono();
  samples.resize(samples_);
  spectrogram_.write(samples, {out.fill<float>(0), static_cast<std::size_t>(size_.elements())});
  *out.fill<std::int32_t>(1) = label;
  if (settings_.keyed) out.key = key;
}

}  // namespace cohort::detail
