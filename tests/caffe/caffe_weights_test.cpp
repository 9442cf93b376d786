// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/caffe/detail/caffe_weights.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/detail/protobuf.hpp>

#include <string>
#include <vector>

#include "../checkpoint/refusals.hpp"

namespace caffe_weights_test {

using namespace cohort;
using detail::protobuf_writer;

std::string refused(std::string const& bytes) {
  return refusal_of<data_error>([&] { detail::read_caffemodel(bytes, "a.caffemodel"); });
}
/// A network with one layer of the format V2, whose blob has these bytes.
std::string net_of(std::string const& blob) {
  protobuf_writer layer, net;
  layer.bytes(1, "conv1");
  layer.bytes(2, "Convolution");
  layer.bytes(7, blob);
  net.bytes(100, layer.text());
  return net.text();
}

TEST(caffe_weights, reads_what_it_writes) {
  std::vector<detail::caffe_trained_layer> const layers{
      {.name = "a",
       .type = "InnerProduct",
       .blobs = {{.dims = {2, 3}, .values = {1, 2, 3, 4, 5, 6}}, {.dims = {2}, .values = {7, 8}}}},
      {.name = "b", .type = "PReLU", .blobs = {{.dims = {}, .values = {0.5F}}}}};
  auto const again = detail::read_caffemodel(detail::write_caffemodel(layers), "a.caffemodel");
  ASSERT_EQ(again.size(), 2U);
  EXPECT_EQ(again[0].name, "a");
  EXPECT_EQ(again[0].type, "InnerProduct");
  EXPECT_EQ(again[0].blobs[0].dims, layers[0].blobs[0].dims);
  EXPECT_EQ(again[0].blobs[0].values, layers[0].blobs[0].values);
  EXPECT_EQ(again[0].blobs[1].values, layers[0].blobs[1].values);
  EXPECT_EQ(again[1].blobs[0].values, layers[1].blobs[0].values);
}

TEST(caffe_weights, reads_double_values_and_four_extents) {
  protobuf_writer blob;
  for (std::uint32_t axis = 1; axis <= 4; ++axis) blob.integer(axis, axis == 4 ? 2 : 1);
  std::vector<double> const values{0.25, -3};
  blob.f64s(8, values);
  auto const read = detail::read_caffemodel(net_of(blob.text()), "a.caffemodel");
  EXPECT_TRUE(read[0].blobs[0].is_legacy);
  EXPECT_EQ(read[0].blobs[0].dims, (std::vector<std::int64_t>{1, 1, 1, 2}));
  EXPECT_EQ(read[0].blobs[0].values, (std::vector<float>{0.25F, -3}));
}

TEST(caffe_weights, refuses_malformed_files) {
  protobuf_writer shape, blob, v0, v1, both;
  shape.integer(1, 3);
  blob.bytes(7, shape.text());
  blob.real(5, 1);
  EXPECT_NE(refused(net_of(blob.text())).find("expected 3 values by the shape, got 1 values"),
            std::string::npos);
  protobuf_writer huge, large;
  for (int axis = 0; axis < 4; ++axis) huge.integer(1, 1 << 30);
  large.bytes(7, huge.text());
  EXPECT_NE(refused(net_of(large.text())).find("expected a shape of at most 2^40 values, got a larger shape"),
            std::string::npos);
  protobuf_writer many, wide;
  for (int axis = 0; axis < 33; ++axis) many.integer(1, 1);
  wide.bytes(7, many.text());
  wide.real(5, 1);
  EXPECT_NE(refused(net_of(wide.text())).find("expected at most 32 axes, got 33"), std::string::npos);
  v0.bytes(1, "layer");
  v1.bytes(2, v0.text());
  EXPECT_NE(refused(v1.text()).find("got V0, which Caffe replaced in 2013"), std::string::npos);
  both.bytes(100, "");
  both.bytes(2, "");
  EXPECT_NE(refused(both.text()).find("layers of the formats V1 and V2"), std::string::npos);
  EXPECT_NE(refused("").find("expected layers with parameters, got none"), std::string::npos);
  EXPECT_NE(refused("\x7f").find("a.caffemodel, byte 0"), std::string::npos);
}

}  // namespace caffe_weights_test
