// SPDX-License-Identifier: Apache-2.0
#include <cohort/image/image_records.hpp>
#include <cohort/io/detail/protobuf.hpp>
#include <cohort/records/tfrecord.hpp>
#include <cohort/records/webdataset.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "../../data/refused.hpp"
#include "../../records/tar_bytes.hpp"
#include "image_files.hpp"

namespace image_records_test {

using namespace cohort;
using tar_bytes::member;

std::string text_of(std::vector<std::byte> const& bytes) {
  return {reinterpret_cast<char const*>(bytes.data()), bytes.size()};
}

record_set archive(std::string const& members, record_format format = webdataset()) {
  std::string const path = fresh_path("images.tar");
  tar_bytes::write(path, members + tar_bytes::end());
  return record_set({path}, std::move(format), {.cache = ""});
}

struct example {
  image pixels;
  std::int32_t label = -1;
  std::string key;
};

example example_of(image_records const& data, std::int64_t i) {
  example_view view;
  view.allocate(data.describe());
  data.get(i, view);
  shape const dims = data.describe().inputs[0].example;
  example made{.pixels = image(dims[0], dims[1], dims[2]), .key = std::string(view.key)};
  std::memcpy(made.pixels.pixels.data(), view.at(0), made.pixels.pixels.size());
  std::memcpy(&made.label, view.at(1), sizeof made.label);
  return made;
}

image_settings const two_classes{.labels = {"ant", "cat"}, .keyed = true};

TEST(image_records, decode_the_images_of_a_webdataset) {
  image const first = picture(3, 6, 8, 1), second = picture(3, 6, 8, 2);
  image_records const data(archive(member("a/1.png", text_of(png_of(first))) + member("a/1.cls", "1\n")
                                   + member("a/2.cls", "0") + member("a/2.jpg", text_of(png_of(second)))),
                           two_classes);
  ASSERT_EQ(data.size(), 2);
  EXPECT_EQ(data.describe().inputs[0].example, (shape{3, 6, 8}));
  EXPECT_EQ(data.describe().targets[0].label_names, two_classes.labels);
  EXPECT_EQ(example_of(data, 0).pixels, first);
  EXPECT_EQ(example_of(data, 0).label, 1);
  EXPECT_EQ(example_of(data, 0).key, "a/1");
  EXPECT_EQ(example_of(data, 1).pixels, second);
  EXPECT_EQ(data.label(0), 1);
  EXPECT_EQ(data.label(1), 0);
}

TEST(image_records, refuse_image_files_that_are_too_large) {
  image_settings how = two_classes;
  std::string const file = text_of(png_of(picture(3, 6, 8, 1)));
  how.max_file_bytes = file.size() - 1;
  image_records const data(archive(member("a.png", file) + member("a.cls", "1")), how);
  expect_parts(refused<data_error>([&] { example_of(data, 0); }),
               {"an image file is too large", "record 0, a", "max_file_bytes"});
}

TEST(image_records, refuse_records_without_an_image_or_a_valid_class) {
  std::string const picture_file = text_of(png_of(picture(3, 6, 8, 1)));
  auto const good = member("1.png", picture_file) + member("1.cls", "0");
  auto const says = [&](std::string const& members, std::int64_t i) {
    image_records const data(archive(good + members), two_classes);
    return refused<data_error>([&] { example_of(data, i); });
  };
  expect_parts(says(member("2.cls", "0"), 1),
               {"a record has no image", "images.tar, record 1, 2", "a field png"});
  expect_parts(says(member("2.png", picture_file), 1), {"a record does not have a field", "cls"});
  expect_parts(says(member("2.png", picture_file) + member("2.cls", "2"), 1),
               {"is not an integer in the expected range", "0 to 1", "'2'"});
  expect_parts(says(member("2.png", "no picture") + member("2.cls", "1"), 1), {"images.tar, record 1, 2"});
  expect_parts(refused<setting_error>([&] { image_records(archive(good), {}); }),
               {"classes of the records are unknown", "labels"});
  expect_parts(refused<setting_error>([&] {
                 image_records(archive(member("1.avif", "x") + member("1.cls", "0")), two_classes);
               }),
               {"one of avif, cls", "got jpg"});
  expect_parts(refused<setting_error>([&] { image_records(archive(member("1.jpg", "x")), two_classes); }),
               {"got cls"});
}

/// A Datum with `planes` as bytes, or with an encoded image.
std::string datum(shape const& extents, std::string const& data, int label, bool encoded = false) {
  detail::protobuf_writer to;
  for (std::uint32_t axis = 0; axis < 3; ++axis) to.integer(axis + 1, extents[static_cast<int>(axis)]);
  to.bytes(4, data);
  to.integer(5, label);
  if (encoded) to.integer(7, 1);
  return to.text();
}

/// A tf.train.Example with an image under the name "image", and a list of integers under the name "class".
std::string example_message(std::string const& picture_file, std::vector<int> const& classes) {
  auto const field = [](std::uint32_t number, std::string const& value) {
    detail::protobuf_writer to;
    to.bytes(number, value);
    return to.text();
  };
  detail::protobuf_writer integers;
  for (int const one : classes) integers.integer(1, one);
  auto const entry = [&](char const* name, std::string const& feature) {
    return field(1, field(1, name) + field(2, feature));
  };
  return field(1,
               entry("image", field(1, field(1, picture_file))) + entry("class", field(3, integers.text())));
}

TEST(image_records, read_examples_of_tensorflow) {
  image const pixels = picture(3, 6, 8, 1);
  std::string const file = text_of(png_of(pixels));
  auto const records =
      archive(member("0.record", example_message(file, {1})) + member("1.record", example_message(file, {2}))
              + member("2.record", example_message(file, {}))
              + member("3.record", example_message(file, {0, 1})) + member("4.record", "no message"));
  image_fields const names{.image = {"photo", "image"}, .label = "class"};
  image_records const data = image_records::of_tensorflow(records, two_classes, names);
  EXPECT_EQ(data.describe().inputs[0].example, (shape{3, 6, 8}));
  EXPECT_EQ(example_of(data, 0).pixels, pixels);
  EXPECT_EQ(example_of(data, 0).label, 1);
  EXPECT_EQ(data.label(0), 1);
  auto const says = [&](image_records const& from, std::int64_t i) {
    return refused<data_error>([&] { example_of(from, i); });
  };
  expect_parts(says(data, 1), {"unknown class", "record 1", "0 to 1", "got 2"});
  expect_parts(says(data, 2), {"a record has no class", "record 2", "a feature class of one integer"});
  expect_parts(says(data, 3), {"a record has no class", "record 3", "another feature of this name"});
  expect_parts(says(data, 4), {"record 4"});
  image_settings sized = two_classes;
  sized.height = 6, sized.width = 8;
  expect_parts(says(image_records::of_tensorflow(records, sized), 0),
               {"a record has no image", "record 0", "a feature image/encoded of one byte string"});
  image_fields other = names;
  other.label = "number";
  expect_parts(says(image_records::of_tensorflow(records, two_classes, other), 0),
               {"a record has no class", "a feature number of one integer", "got none"});
}

TEST(image_records, read_datums_of_caffe) {
  image const encoded = picture(3, 1, 2, 5);
  std::string const blue_green_red{1, 2, 3, 4, 5, 6};
  auto const records = archive(member("0.value", datum({3, 1, 2}, blue_green_red, 1))
                               + member("1.value", datum({3, 1, 2}, text_of(png_of(encoded)), 0, true))
                               + member("2.value", datum({1, 1, 2}, {7, 8}, 0))
                               + member("3.value", datum({2, 1, 1}, {7, 8}, 0))
                               + member("4.value", datum({1, 1, 2}, {7, 8}, 5)));
  image_records const colour = image_records::of_caffe(records, two_classes);
  EXPECT_EQ(example_of(colour, 0).pixels.pixels, (std::vector<std::uint8_t>{5, 6, 3, 4, 1, 2}));
  EXPECT_EQ(example_of(colour, 0).label, 1);
  EXPECT_EQ(example_of(colour, 1).pixels, encoded);
  EXPECT_EQ(example_of(colour, 2).pixels.pixels, (std::vector<std::uint8_t>{7, 8, 7, 8, 7, 8}));
  EXPECT_EQ(colour.label(0), 1);
  expect_parts(refused<data_error>([&] { example_of(colour, 3); }),
               {"a Caffe Datum is not an image", "record 3", "2 channels of bytes"});
  expect_parts(refused<data_error>([&] { example_of(colour, 4); }),
               {"unknown class", "record 4", "0 to 1", "got 5"});
  image_settings grey = two_classes;
  grey.channels = 1;
  image_records const made = image_records::of_caffe(records, grey);
  EXPECT_EQ(example_of(made, 0).pixels.pixels,
            (std::vector<std::uint8_t>{3, 4}));  // 0.299·5 + 0.587·3 + 0.114·1 = 3.4
  EXPECT_EQ(example_of(made, 2).pixels.pixels, (std::vector<std::uint8_t>{7, 8}));
}

}  // namespace image_records_test
