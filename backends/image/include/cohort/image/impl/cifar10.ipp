// SPDX-License-Identifier: Apache-2.0
#include <cohort/error/exceptions.hpp>
#include <cohort/image/cifar10.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/io/folder.hpp>
#include <cstddef>
#include <memory>

namespace cohort::cifar10 {

arrays read(std::vector<std::string> const& files) {
  constexpr std::size_t pixels = 3 * 32 * 32;
  constexpr std::size_t record = 1 + pixels;
  struct contents {
    std::vector<std::uint8_t> images;
    std::vector<std::uint8_t> labels;
  };
  if (files.empty())
    throw setting_error({.what = "no files given", .where = "files", .expected = "at least 1", .got = "0"});
  auto const made = std::make_shared<contents>();
  std::vector<std::uint8_t> one(record);
  for (std::string const& path : files) {
    io::file_reader file(path);
    std::uint64_t const records = file.size() / record;
    if (records == 0 || file.size() % record != 0)
      throw data_error({.what = "not a CIFAR-10 file",
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
        throw data_error({.what = "not a CIFAR-10 file",
                          .where = {path, ", record ", i},
                          .expected = "a label from 0 to 9",
                          .got = {one[0]}});
      made->labels.push_back(one[0]);
      made->images.insert(made->images.end(), one.begin() + 1, one.end());
    }
  }
  auto const count = static_cast<int>(made->labels.size());
  return arrays(
      {array_view{
          .name = "input", .values = {made->images.data(), shape(count, 3, 32, 32)}, .scale = 1 / 255.0}},
      {array_view{.name = "label",
                  .values = {made->labels.data(), shape(count)},
                  .classes = 10,
                  .label_names = {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse",
                                  "ship", "truck"}}},
      made);
}

}  // namespace cohort::cifar10

namespace cohort::detail {

arrays cifar10_of(std::string const& folder, std::vector<std::string> names, std::uint64_t bytes) {
  for (std::string& name : names) {
    name = folder + '/' + name;
    if (std::uint64_t const found = io::size_of_file(name).value_or(bytes); found != bytes)
      throw data_error(
          {.what = "not a CIFAR-10 file", .where = name, .expected = {bytes, " bytes"}, .got = {found}});
  }
  return cifar10::read(names);
}

}  // namespace cohort::detail

namespace cohort::cifar10 {

arrays train(std::string const& folder) {
  return detail::cifar10_of(
      folder,
      {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"},
      file_bytes);
}

arrays test(std::string const& folder) { return detail::cifar10_of(folder, {"test_batch.bin"}, file_bytes); }

}  // namespace cohort::cifar10
