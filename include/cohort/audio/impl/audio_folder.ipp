// SPDX-License-Identifier: Apache-2.0
#include <cohort/audio/audio_folder.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/file.hpp>
#include <utility>

namespace cohort::audio {

namespace {

bool is_wav_file(std::string const& name, std::string const& where) {
  if (name.ends_with(".wav") || name.ends_with(".WAV")) return true;
  throw data_error({.what = "not a WAV file",
                    .where = where,
                    .expected = "a name that ends in .wav or begins with a dot",
                    .got = {name}});
}

}  // namespace

audio_folder::audio_folder(std::string folder, sound_settings settings)
    : folder_(std::move(folder)),
      files_(class_folders::list(folder_, settings.labels, is_wav_file, "CLASS/NAME.wav")),
      reader_(std::move(settings), files_.labels),
      description_(reader_.describe()) {}

void audio_folder::get(std::int64_t i, example_view& out) const {
  auto const index = static_cast<std::size_t>(i);
  std::string const path = folder_ + '/' + files_.paths[index];
  reader_.write(io::read_file(path, reader_.max_file_bytes()), path, files_.paths[index],
                files_.classes[index], out);
}

}  // namespace cohort::audio
