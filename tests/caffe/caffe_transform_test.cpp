// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/caffe/caffe_transform.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/detail/protobuf.hpp>
#include <cohort/io/file_writer.hpp>
#include <cstdint>
#include <numeric>
#include <set>
#include <string>
#include <vector>
#include "../checkpoint/refusals.hpp"

namespace caffe_transform_test {

using namespace cohort;

caffe_transform transform_of(std::string const& text, bool is_training = false) {
  return caffe_transform::from(parse_prototxt(text, "net.prototxt"), is_training);
}

/// An image of 2 channels, 3 rows and 4 columns with the values 0 … 23.
std::vector<std::uint8_t> image() {
  std::vector<std::uint8_t> pixels(24);
  std::iota(pixels.begin(), pixels.end(), std::uint8_t{0});
  return pixels;
}
shape const extents{2, 3, 4};

std::vector<float> result_of(caffe_transform const& how, std::uint64_t example = 0) {
  std::vector<float> made(static_cast<std::size_t>(how.result(extents, "image").elements()));
  how.write(image(), extents, random_stream(1, "test", 0, example), "image", made.data());
  return made;
}

TEST(caffe_transform, subtracts_means_before_scaling) {
  std::vector<float> const made = result_of(transform_of("scale: 0.5 mean_value: 2 mean_value: 10"));
  EXPECT_EQ(made[0], -1);
  EXPECT_EQ(made[11], 4.5F);
  EXPECT_EQ(made[12], 1);
  EXPECT_EQ(result_of(transform_of("mean_value: 4"))[13], 9);
  EXPECT_EQ(refusal_of<data_error>([] { result_of(transform_of("mean_value: [1, 2, 3]")); }),
            "the number of mean_value differs from the channels of an image (image): expected 1 or 2, got 3");
}

TEST(caffe_transform, crops_the_centre_in_tests) {
  EXPECT_EQ(result_of(transform_of("crop_size: 2")), (std::vector<float>{1, 2, 5, 6, 13, 14, 17, 18}));
  EXPECT_EQ(refusal_of<data_error>([] { result_of(transform_of("crop_size: 4")); }),
            "an image is smaller than crop_size (image): expected at least 4x4, got 3x4");
}

TEST(caffe_transform, crops_and_mirrors_at_random) {
  std::set<std::vector<float>> windows, mirrored;
  for (std::uint64_t example = 0; example < 200; ++example) {
    windows.insert(result_of(transform_of("crop_size: 2", true), example));
    mirrored.insert(result_of(transform_of("mirror: true"), example));
  }
  EXPECT_EQ(windows.size(), 6U);  // 2 rows × 3 columns
  ASSERT_EQ(mirrored.size(), 2U);
  EXPECT_EQ((std::vector<float>(mirrored.rbegin()->begin(), mirrored.rbegin()->begin() + 4)),
            (std::vector<float>{3, 2, 1, 0}));
}

/// Bytes of a BlobProto with the values 1, 2, … `fields`: num, channels, height and width.
std::string blob(std::vector<std::int64_t> const& fields, std::size_t values) {
  detail::protobuf_writer out;
  for (std::uint32_t k = 0; k < fields.size(); ++k) out.integer(k + 1, fields[k]);
  for (std::size_t k = 0; k < values; ++k) out.real(5, static_cast<float>(k + 1));
  return out.text();
}

TEST(caffe_transform, subtracts_a_mean_file_at_the_place_of_the_window) {
  std::string const path = testing::TempDir() + "caffe_mean.binaryproto";
  io::write_file(path, blob({1, 2, 3, 4}, 24));
  caffe_transform const how = transform_of("crop_size: 2 scale: 2 mean_file: \"" + path + "\"");
  EXPECT_EQ(how.mean.extents, extents);
  for (float const value : result_of(how)) EXPECT_EQ(value, -2);  // pixel k, mean k + 1
  EXPECT_THROW(how.result({1, 3, 4}, "image"), data_error);
  for (auto const& fields : {std::vector<std::int64_t>{2, 1, 3, 4}, {1, 2, 3, 5}, {1, -2, -3, 4}, {}}) {
    io::write_file(path, blob(fields, 24));
    EXPECT_THROW(caffe_mean::read(path), data_error);
  }
  io::write_file(path, "no blob");
  EXPECT_THROW(caffe_mean::read(path), data_error);
}

TEST(caffe_transform, refuses_contradictions_and_unknown_fields) {
  for (char const* const text :
       {"mean_value: 1 mean_file: \"a\"", "force_color: true force_gray: true", "crop_size: -1", "rotate: 3"})
    EXPECT_THROW(transform_of(text), data_error) << text;
}

}  // namespace caffe_transform_test
