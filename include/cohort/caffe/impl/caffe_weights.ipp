// SPDX-License-Identifier: Apache-2.0
#include <cohort/caffe/detail/caffe_network.hpp>
#include <cohort/caffe/detail/caffe_weights.hpp>
#include <cohort/io/detail/protobuf.hpp>
#include <cstring>
#include <utility>

namespace cohort::detail {

// BlobProto: shape 7, data 5, double_data 8; num, channels, height and width 1 to 4.
caffe_blob read_blob(protobuf_reader& reader) {
  caffe_blob result;
  std::vector<std::int64_t> legacy(4, 0);
  std::vector<double> doubles;
  bool has_shape = false;
  while (reader.next()) {
    std::uint32_t const field = reader.field();
    if (field >= 1 && field <= 4) {
      legacy[field - 1] = reader.integer();
      result.is_legacy = true;
    } else if (field == 5) {
      reader.append_to(result.values);
    } else if (field == 7) {
      has_shape = true;
      protobuf_reader shape(reader, "shape");
      while (shape.next())
        if (shape.field() == 1) shape.append_to(result.dims);
      if (result.dims.size() > max_caffe_axes)
        shape.refuse("at most " + std::to_string(max_caffe_axes) + " axes",
                     std::to_string(result.dims.size()));
    } else if (field == 8) {
      reader.append_to(doubles);
    }
  }
  for (double const value : doubles) result.values.push_back(static_cast<float>(value));
  if (has_shape)
    result.is_legacy = false;
  else if (result.is_legacy)
    result.dims = legacy;
  else
    result.dims = {static_cast<std::int64_t>(result.values.size())};
  std::int64_t elements = 1;
  for (std::int64_t const extent : result.dims) {
    if (extent < 0 || extent > (std::int64_t{1} << 31))
      reader.refuse("extents of 31 bits", std::to_string(extent));
    elements = extent == 0 ? 0 : elements > (std::int64_t{1} << 40) / extent ? -1 : elements * extent;
    if (elements <= 0) break;
  }
  if (elements < 0) reader.refuse("a shape of at most 2^40 values", "a larger shape");
  if (elements != static_cast<std::int64_t>(result.values.size()))
    reader.refuse(std::to_string(elements) + " values by the shape",
                  std::to_string(result.values.size()) + " values");
  return result;
}

namespace {

constexpr std::size_t most_trained_layers = std::size_t{1} << 16;

/// LayerParameter: name 1, type 2, blobs 7. V1LayerParameter: layer 1 (V0), name 4, type 5, blobs 6.
caffe_trained_layer read_layer(protobuf_reader const& parent, bool is_v1, std::int64_t index,
                               std::size_t& blobs) {
  protobuf_reader reader(parent, is_v1 ? "layers" : "layer", index);
  caffe_trained_layer result;
  while (reader.next()) {
    std::uint32_t const field = reader.field();
    if (is_v1 && field == 1)
      reader.refuse("a network of the format V1 or V2", "V0, which Caffe replaced in 2013");
    if (field == (is_v1 ? 4U : 1U)) result.name = reader.bytes();
    if (field == (is_v1 ? 5U : 2U)) result.type = is_v1 ? caffe_type_of_v1(reader.integer()) : reader.bytes();
    if (field == (is_v1 ? 6U : 7U)) {
      if (++blobs > most_trained_layers) reader.refuse("at most 65536 blobs", "more");
      protobuf_reader blob(reader, "blobs", static_cast<std::int64_t>(result.blobs.size()));
      result.blobs.push_back(read_blob(blob));
    }
  }
  return result;
}

}  // namespace

std::vector<caffe_trained_layer> read_caffemodel(std::string_view bytes, std::string const& file) {
  protobuf_reader reader(bytes, file, "cannot read the .caffemodel");
  std::vector<caffe_trained_layer> all;
  std::int64_t layers = 0;
  std::size_t blobs = 0;
  bool is_v1 = false, is_v2 = false;
  while (reader.next()) {
    bool const v1 = reader.field() == 2;
    if (!v1 && reader.field() != 100) continue;
    (v1 ? is_v1 : is_v2) = true;
    if (is_v1 && is_v2) reader.refuse("layers of one format", "layers of the formats V1 and V2");
    caffe_trained_layer result = read_layer(reader, v1, layers++, blobs);
    if (!result.blobs.empty()) all.push_back(std::move(result));
    if (all.size() > most_trained_layers) reader.refuse("at most 65536 layers", "more");
  }
  if (all.empty()) reader.refuse("layers with parameters", "none");
  return all;
}

std::string write_caffemodel(std::vector<caffe_trained_layer> const& layers) {
  protobuf_writer net;
  for (caffe_trained_layer const& each : layers) {
    protobuf_writer layer;
    layer.bytes(1, each.name);
    layer.bytes(2, each.type);
    for (caffe_blob const& blob : each.blobs) {
      protobuf_writer result, shape;
      for (std::int64_t const extent : blob.dims) shape.integer(1, extent);
      std::string_view const data(reinterpret_cast<char const*>(blob.values.data()),
                                  blob.values.size() * sizeof(float));
      result.bytes(5, data);
      result.bytes(7, shape.text());
      layer.bytes(7, result.text());
    }
    net.bytes(100, layer.text());
  }
  return net.text();
}

}  // namespace cohort::detail
