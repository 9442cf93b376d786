// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cohort/io/detail/protobuf.hpp>
#include <cohort/records/caffe_datum.hpp>
#include <string>
#include <vector>

#include "../data/refused.hpp"

namespace caffe_datum_test {

using namespace cohort;

struct fields {
  std::int64_t channels = 3, height = 2, width = 1, label = 7;
  std::string data = "abcdef";
  std::vector<float> numbers{};
  bool encoded = false;
};

std::string message(fields const& of) {
  detail::protobuf_writer to;
  to.integer(1, of.channels);
  to.integer(2, of.height);
  to.integer(3, of.width);
  if (!of.data.empty()) to.bytes(4, of.data);
  to.integer(5, of.label);
  for (float one : of.numbers) to.real(6, one);  // not packed, as Caffe's proto2 writes them
  if (of.encoded) to.integer(7, 1);
  return to.text();
}

caffe_datum parsed(std::string const& bytes) {
  return caffe_datum::parse(std::as_bytes(std::span(bytes.data(), bytes.size())), "train_lmdb, record 3");
}

TEST(caffe_datum, reads_bytes_numbers_or_an_encoded_image) {
  std::string const pixels = message({});
  caffe_datum const of_bytes = parsed(pixels);
  EXPECT_EQ(of_bytes.extents(), (shape{3, 2, 1}));
  EXPECT_EQ(of_bytes.label, 7);
  EXPECT_EQ(of_bytes.data, "abcdef");
  EXPECT_FALSE(of_bytes.encoded);
  caffe_datum const of_numbers =
      parsed(message({.channels = 2, .height = 1, .width = 1, .data = "", .numbers = {0.5F, -3}}));
  EXPECT_EQ(of_numbers.numbers, (std::vector<float>{0.5F, -3}));
  std::string const file =
      message({.channels = 0, .height = 0, .width = 0, .data = "\xff\xd8jpeg", .encoded = true});
  EXPECT_TRUE(parsed(file).encoded);
  EXPECT_EQ(parsed(file).data, "\xff\xd8jpeg");
}

TEST(caffe_datum, accepts_negative_labels_of_32_bits) {
  EXPECT_EQ(parsed(message({.label = -1})).label, -1);
  EXPECT_EQ(parsed(message({.label = -2147483648})).label, -2147483647 - 1);
  expect_parts(refused<data_error>([] { parsed(message({.label = 2147483648})); }),
               {"label", "expected -2147483648 to 2147483647", "got 2147483648"});
}

TEST(caffe_datum, refuses_inconsistent_or_truncated_messages) {
  auto const says = [](fields const& of) { return refused<data_error>([&] { parsed(message(of)); }); };
  expect_parts(says({.data = "abcde"}),
               {"differs from its extents", "train_lmdb, record 3", "3x2x1 elements", "got 5"});
  expect_parts(says({.channels = 0, .data = ""}), {"0x2x1 elements", "got 0"});
  expect_parts(says({.channels = 1 << 30, .height = 1 << 30, .width = 1 << 30}), {"got 6"});
  expect_parts(says({.height = -1}), {"out of range", "height", "got -1"});
  expect_parts(says({.label = std::int64_t{1} << 40}), {"out of range", "label"});
  for (std::size_t length = 1; length < 12; ++length)
    expect_parts(refused<data_error>([&] { parsed(message({}).substr(0, length)); }), {"record 3"});
}

}  // namespace caffe_datum_test
