// SPDX-License-Identifier: Apache-2.0
// covers: audio/sound_settings
#include <gtest/gtest.h>

#include <cohort/audio/audio_folder.hpp>
#include <cohort/audio/audio_records.hpp>
#include <cohort/data/loader.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/records/webdataset.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include "../checkpoint/scratch_folder.hpp"
#include "../data/refused.hpp"
#include "../records/tar_bytes.hpp"
#include "wav_bytes.hpp"

namespace audio_records_test {

using cohort::audio::audio_records;
using cohort::audio::sound_settings;

sound_settings const short_sounds{.seconds = 0.05,
                                  .spectrogram = {.rate = 8000, .window = 128, .hop = 64, .bands = 8},
                                  .labels = {"no", "yes"},
                                  .keyed = true};

cohort::record_set archive(scratch_folder const& folder, std::string const& members) {
  tar_bytes::write(folder / "sounds.tar", members + tar_bytes::end());
  return cohort::record_set({folder / "sounds.tar"}, cohort::webdataset(), {.cache = ""});
}

std::vector<int> ramp(int step) {
  std::vector<int> samples;
  for (int i = 0; i < 400; ++i) samples.push_back(i * step % 20'000);
  return samples;
}

TEST(audio_records, equal_the_sounds_of_a_folder) {
  scratch_folder const folder;
  std::string members;
  for (auto const& [label, step] : {std::pair{"no", 100}, std::pair{"yes", 777}}) {
    std::string const file = wav_of(ramp(step), 8000);
    std::filesystem::create_directories(folder / "sounds" + "/" + label);
    std::ofstream(folder / "sounds" + "/" + label + "/1.wav", std::ios::binary) << file;
    members += tar_bytes::member(std::string(label) + "1.wav", file)
               + tar_bytes::member(std::string(label) + "1.cls", step == 100 ? "0" : "1");
  }
  cohort::dataset const records = audio_records(archive(folder, members), short_sounds);
  cohort::audio::audio_folder const files(folder / "sounds", short_sounds);
  cohort::loader from_records(records, {.batch = 2, .shuffle = false});
  cohort::loader from_files(std::cref(files), {.batch = 2, .shuffle = false});
  cohort::batch const* const a = from_records.next();
  cohort::batch const* const b = from_files.next();
  ASSERT_TRUE(a != nullptr && b != nullptr);
  auto const left = a->input().as<float>(), right = b->input().as<float>();
  ASSERT_EQ(left.size(), std::size_t{2 * 8 * 7});
  EXPECT_EQ(std::memcmp(left.data(), right.data(), left.size_bytes()), 0);
  EXPECT_EQ(a->target().as<std::int32_t>()[1], 1);
}

TEST(audio_records, refuse_missing_classes_and_fields_and_name_the_record) {
  scratch_folder const folder;
  std::string const good =
      tar_bytes::member("a.wav", wav_of(ramp(3), 8000)) + tar_bytes::member("a.cls", "0");
  auto const get = [&](std::string const& members) {
    cohort::dataset const data = audio_records(archive(folder, good + members), short_sounds);
    return refused<cohort::data_error>([&] {
      cohort::loader batches(data, {.batch = 2, .shuffle = false});
      batches.next();
    });
  };
  expect_parts(get(tar_bytes::member("b.wav", "no sound") + tar_bytes::member("b.cls", "0")),
               {"sounds.tar, record 1, b", "RIFF and WAVE"});
  expect_parts(get(tar_bytes::member("b.wav", wav_of(ramp(3), 8000)) + tar_bytes::member("b.cls", "2")),
               {"record 1, b", "0 to 1", "'2'"});
  expect_parts(get(tar_bytes::member("b.wav", wav_of(ramp(3), 44'100)) + tar_bytes::member("b.cls", "1")),
               {"record 1, b", "another rate", "44100 Hz"});
  expect_parts(refused<cohort::setting_error>([&] { audio_records(archive(folder, good), {}); }),
               {"classes of the records are unknown", "sound_settings::labels"});
  expect_parts(refused<cohort::setting_error>([&] {
                 audio_records(
                     archive(folder, tar_bytes::member("a.mp3", "x") + tar_bytes::member("a.cls", "0")),
                     short_sounds);
               }),
               {"wav"});
}

}  // namespace audio_records_test
