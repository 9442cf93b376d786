// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/arrays.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/detail/folder.hpp>
#include <cohort/io/file_reader.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cohort::cifar10 {

/// The binary files of CIFAR-10: records of a label byte and 32 × 32 pixels, red, then green, then blue.
///
/// Shapes    input 3 × 32 × 32, u8 that arrive as f32 in [0, 1]; label i32 0 to 9 with its name.
/// Order     the records of the files in the order given.
/// Moves     3,073 bytes an image are kept.
/// Errors    file_error for a file that cannot be read; data_error naming it if it is empty or holds no whole number of
///           records, or a label above 9.
/// Source    Krizhevsky, Learning multiple layers of features from tiny images, 2009; "binary version".
inline arrays read(std::vector<std::string> const& files) {
  constexpr std::size_t pixels = 3 * 32 * 32;
  constexpr std::size_t record = 1 + pixels;
  struct contents {
    std::vector<std::uint8_t> images;
    std::vector<std::uint8_t> labels;
  };
  if (files.empty())
    throw setting_error(
        {.what = "there is no file to read", .where = "files", .expected = "at least 1", .got = "0"});
  auto const made = std::make_shared<contents>();
  std::vector<std::uint8_t> one(record);
  for (std::string const& path : files) {
    file_reader file(path);
    std::uint64_t const records = file.size() / record;
    if (records == 0 || file.size() % record != 0)
      throw data_error({.what = "this is no CIFAR-10 file",
                        .where = path,
                        .expected = {"a multiple of ", record, " bytes"},
                        .got = {file.size()}});
    made->images.reserve(made->images.size() + static_cast<std::size_t>(records) * pixels);
    made->labels.reserve(made->labels.size() + static_cast<std::size_t>(records));
    for (std::uint64_t i = 0; i < records; ++i) {
      if (file.read(one.data(), record) < record)
        throw file_error({.what = "the file became shorter while it was read",
                          .where = path,
                          .expected = {records, " records"},
                          .got = {i}});
      if (one[0] > 9)
        throw data_error({.what = "this is no CIFAR-10 file",
                          .where = {path, ", record ", i},
                          .expected = "a label from 0 to 9",
                          .got = {one[0]}});
      made->labels.push_back(one[0]);
      made->images.insert(made->images.end(), one.begin() + 1, one.end());
    }
  }
  auto const count = static_cast<int>(made->labels.size());
  return arrays(
      {array{.name = "input", .values = {made->images.data(), shape(count, 3, 32, 32)}, .scale = 1 / 255.0}},
      {array{.name = "label",
             .values = {made->labels.data(), shape(count)},
             .classes = 10,
             .label_names = {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship",
                             "truck"}}},
      made);
}

}  // namespace cohort::cifar10

namespace cohort::detail {

inline arrays cifar10_of(std::string const& folder, std::vector<std::string> names, std::uint64_t bytes) {
  for (std::string& name : names) {
    name = folder + '/' + name;
    if (std::uint64_t const found = size_of_file(name).value_or(bytes); found != bytes)
      throw data_error({.what = "this is no file of CIFAR-10",
                        .where = name,
                        .expected = {bytes, " bytes"},
                        .got = {found}});
  }
  return cifar10::read(names);
}

}  // namespace cohort::detail

namespace cohort::cifar10 {

inline constexpr std::uint64_t file_bytes = 30'730'000;  ///< 10,000 records

/// The 50,000 training images in the folder's data_batch_1.bin to data_batch_5.bin.
///
/// Errors    as read's; data_error naming a file that has not 30,730,000 bytes.
inline arrays train(std::string const& folder) {
  return detail::cifar10_of(
      folder,
      {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"},
      file_bytes);
}

/// The 10,000 test images in the folder's test_batch.bin, like train.
inline arrays test(std::string const& folder) {
  return detail::cifar10_of(folder, {"test_batch.bin"}, file_bytes);
}

}  // namespace cohort::cifar10
