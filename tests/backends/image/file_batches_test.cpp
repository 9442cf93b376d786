// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/data/loader.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/image/file_batches.hpp>
#include <cohort/image/image_folder.hpp>
#include <cohort/image/pack_files.hpp>
#include <cohort/io/crc32.hpp>
#include <cohort/io/detail/zip_writer.hpp>
#include <cohort/io/file.hpp>
#include <cohort/io/file_writer.hpp>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "../../checkpoint/scratch_folder.hpp"
#include "../../data/refused.hpp"
#include "image_files.hpp"

namespace file_batches_test {

using cohort::file_batches;
using cohort::image_folder;

void fill(std::string const& folder) {
  for (char const* name : {"cat", "ant", "dog"})
    for (int i = 0; i < 5; ++i)
      put(folder + '/' + name + '/' + std::to_string(i) + ".png", png_of(picture(3, 6, 8, 10 * name[0] + i)));
}

struct example {
  std::vector<std::byte> pixels;
  std::int32_t label = -1;
  bool operator==(example const&) const = default;
};

template <class Data>
example example_of(Data const& data, std::int64_t i) {
  cohort::example_view view;
  view.allocate(data.describe());
  data.get(i, view);
  example made;
  made.pixels.assign(view.at(0), view.at(0) + data.describe().inputs[0].example.elements());
  std::memcpy(&made.label, view.at(1), sizeof made.label);
  return made;
}

template <class Data>
std::map<std::string, example> all_of(Data const& data) {
  std::map<std::string, example> all;
  for (std::int64_t i = 0; i < data.size(); ++i)
    all[data.paths()[static_cast<std::size_t>(i)]] = example_of(data, i);
  return all;
}

/// Returns a stream of deflate that contains the bytes, at most 65535, in one stored block.
file_bytes deflated(file_bytes const& bytes) {
  std::size_t const size = bytes.size(), complement = ~size;
  file_bytes stream;
  for (std::size_t const byte : {std::size_t{1}, size, size >> 8, complement, complement >> 8})
    stream.push_back(static_cast<std::byte>(byte));
  stream.insert(stream.end(), bytes.begin(), bytes.end());
  return stream;
}

/// Writes an archive of generated entries, optionally by deflate.
std::string archive_of(std::string const& path, std::map<std::string, file_bytes> const& files,
                       bool deflates = false) {
  cohort::io::file_writer file(path);
  cohort::detail::zip_writer archive(file);
  for (auto const& [name, bytes] : files) {
    file_bytes const packed = deflates ? deflated(bytes) : bytes;
    archive.begin({.name = name,
                   .method = deflates ? 8U : 0U,
                   .crc = cohort::io::crc32(bytes),
                   .packed = packed.size(),
                   .size = bytes.size()});
    file.write(reinterpret_cast<char const*>(packed.data()), packed.size());
  }
  archive.finish();
  file.commit();
  return path;
}

TEST(file_batches, contain_the_examples_of_the_folder) {
  scratch_folder const at;
  fill(at / "in");
  auto const archives = cohort::pack_files(at / "in", at / "out", 4, 1, 1);
  image_folder const folder(at / "in");
  file_batches const packed(at / "out");
  EXPECT_EQ(packed.size(), 15);
  EXPECT_EQ(packed.describe().targets[0].label_names, (std::vector<std::string>{"ant", "cat", "dog"}));
  EXPECT_EQ(packed.describe().inputs[0].example, cohort::shape(3, 6, 8));
  EXPECT_EQ(all_of(packed), all_of(folder));
  for (std::int64_t i = 0; i < 15; ++i) EXPECT_EQ(packed.label(i), example_of(packed, i).label);
  EXPECT_NE(packed.paths(), folder.paths());
  EXPECT_EQ(packed.archive_of(4), archives[1]);
  file_batches const plain(archives);
  EXPECT_EQ(plain.paths(), packed.paths());
}

TEST(file_batches, label_examples_by_their_folder_or_by_external_labels) {
  scratch_folder const at;
  file_bytes const pixels = png_of(picture(3, 2, 2));
  std::string const path = archive_of(
      at / "x.zip", {{"train/", {}}, {"train/b/1.png", pixels}, {"a/2.png", pixels}, {"a/.hidden", pixels}});
  file_batches const data(std::vector{path}, {.labels = {"b", "a"}, .keyed = true});
  EXPECT_EQ(data.paths(), (std::vector<std::string>{"a/2.png", "train/b/1.png"}));
  EXPECT_EQ(example_of(data, 0).label, 1);
  EXPECT_EQ(example_of(data, 1).label, 0);
  cohort::loader loader(std::cref(data), {.batch = 2, .shuffle = false});
  EXPECT_EQ(loader.next()->keys, data.paths());
  auto const with = [&](std::vector<std::string> labels) {
    return refused<cohort::data_error>([&] { file_batches(std::vector{path}, {.labels = labels}); });
  };
  expect_parts(with({"a", "b", "c"}), {"a class has no file", "a folder c"});
  expect_parts(with({"a"}), {"/x.zip, train/b/1.png", "not among the labels", "got b"});
}

TEST(file_batches, read_compressed_archives_of_other_programs) {
  scratch_folder const at;
  file_bytes const file = png_of(cohort::image(3, 50, 50));
  file_batches const data({archive_of(at / "x.zip", {{"a/1.png", file}}, true)});
  EXPECT_EQ(example_of(data, 0).pixels, file_bytes(7500));
}

TEST(file_batches, are_read_by_several_threads_concurrently) {
  scratch_folder const at;
  fill(at / "in");
  cohort::pack_files(at / "in", at / "out", 15, 1, 1);
  file_batches const data(at / "out");
  auto const expected = all_of(data);
  std::vector<std::map<std::string, example>> seen(4);
  std::vector<std::thread> threads;
  for (auto& mine : seen)
    threads.emplace_back([&] {
      for (int round = 0; round < 100; ++round) mine = all_of(data);
    });
  for (std::thread& thread : threads) thread.join();
  for (auto const& mine : seen) EXPECT_EQ(mine, expected);
}

TEST(file_batches, report_the_archive_and_file_of_an_error) {
  scratch_folder const at;
  file_bytes const pixels = png_of(picture(3, 20, 20));
  auto const refusal_of = [&](std::map<std::string, file_bytes> const& files) {
    return refused<cohort::data_error>([&] { file_batches({archive_of(at / "x.zip", files)}); });
  };
  expect_parts(refusal_of({{"1.png", pixels}}), {"/x.zip", "not in a class folder", "got 1.png"});
  expect_parts(refusal_of({{"a/1.txt", pixels}}),
               {"/x.zip, a/1.txt", "ends in one of .jpg .jpeg .png .bmp .gif .tif .tiff .webp"});
  expect_parts(refusal_of({{"a/", {}}}), {"no images", "/x.zip"});
  file_batches const other({archive_of(at / "y.zip", {{"a/1.png", file_bytes(9)}})},
                           {.height = 2, .width = 2});
  expect_parts(refused<cohort::data_error>([&] { example_of(other, 0); }),
               {"/y.zip, a/1.png", "a JPEG, PNG, BMP, GIF, TIFF or WebP file"});
  file_batches const small({archive_of(at / "z.zip", {{"a/1.png", pixels}})},
                           {.height = 2, .width = 2, .max_file_bytes = 30});
  expect_parts(refused<cohort::data_error>([&] { example_of(small, 0); }),
               {"/z.zip, a/1.png", "at most 30 bytes"});

  expect_parts(refused<cohort::file_error>([&] { file_batches({at / "none.zip"}); }),
               {"/none.zip", "No such file"});
  write_file(at / "bad.zip", file_bytes(300, std::byte{1}));
  expect_parts(refused<cohort::data_error>([&] { file_batches({at / "bad.zip"}); }),
               {"/bad.zip", "not a zip archive"});
  std::filesystem::create_directory(at / "empty");
  expect_parts(refused<cohort::data_error>([&] { file_batches(at / "empty"); }), {"/empty", "no archives"});
  expect_parts(refused<cohort::file_error>([&] { file_batches(at / "none"); }), {"/none", "No such file"});
}

TEST(file_batches, detect_every_changed_byte_of_a_file) {
  scratch_folder const at;
  file_bytes const pixels = png_of(picture(3, 20, 20));
  std::string const path = archive_of(at / "x.zip", {{"a/1.png", pixels}});
  file_bytes whole = cohort::io::read_file(path);
  auto const begin = std::search(whole.begin(), whole.end(), pixels.begin(), pixels.end()) - whole.begin();
  for (std::size_t n = 0; n < pixels.size(); n += 7) {
    file_bytes changed = whole;
    changed[static_cast<std::size_t>(begin) + n] ^= std::byte{1};
    write_file(path, changed);
    file_batches const data({path}, {.height = 20, .width = 20});
    expect_parts(refused<cohort::data_error>([&] { example_of(data, 0); }),
                 {"/x.zip", "cannot read the zip archive: the entry \"a/1.png\" is damaged", "CRC-32"});
  }
}

TEST(file_batches, read_or_refuse_archives_truncated_or_changed_anywhere) {
  scratch_folder const at;
  std::string const path = archive_of(
      at / "x.zip", {{"a/1.png", png_of(picture(1, 4, 4))}, {"b/1.png", png_of(picture(1, 4, 4))}});
  file_bytes const whole = cohort::io::read_file(path);
  int refusals = 0;
  auto const attempt = [&](file_bytes const& bytes) {
    write_file(path, bytes);
    try {
      file_batches const data({path}, {.height = 4, .width = 4, .max_file_bytes = 1 << 20});
      for (std::int64_t i = 0; i < data.size(); ++i) example_of(data, i);
    } catch (cohort::error const& refusal) {
      expect_parts(refusal.what(), {"/x.zip"});
      ++refusals;
    }
  };
  for (std::size_t n = 0; n < whole.size(); ++n) {
    attempt(file_bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n)));
    file_bytes changed = whole;
    changed[n] ^= std::byte{0x55};
    attempt(changed);
  }
  EXPECT_GT(refusals, static_cast<int>(whole.size()));
}

}  // namespace file_batches_test
