// SPDX-License-Identifier: Apache-2.0
#include <cohort/caffe/caffe_transform.hpp>
#include <cohort/caffe/detail/caffe_network.hpp>
#include <cohort/caffe/detail/caffe_weights.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/detail/protobuf.hpp>
#include <cohort/io/file_reader.hpp>
#include <cstddef>
#include <limits>
#include <string_view>
#include <utility>

namespace cohort {

namespace detail {

/// Returns extents C×H×W for the dimensions of a blob, or an empty shape if the blob is no image.
shape image_extents(std::vector<std::int64_t> dims, std::size_t values) {
  if (dims.size() == 4 && dims[0] == 1) dims.erase(dims.begin());
  if (dims.size() != 3) return {};
  std::int64_t elements = 1;
  for (std::int64_t const extent : dims) {
    if (extent < 1 || extent > std::numeric_limits<int>::max() / elements) return {};
    elements *= extent;
  }
  if (static_cast<std::size_t>(elements) != values) return {};
  return {static_cast<int>(dims[0]), static_cast<int>(dims[1]), static_cast<int>(dims[2])};
}

/// Throws data_error unless the image has the window, and the mean fits.
void require_fit(caffe_transform const& transform, shape const& image, std::string const& where) {
  if (transform.crop > image[1] || transform.crop > image[2])
    throw data_error({.what = "an image is smaller than crop_size",
                      .where = where,
                      .expected = {"at least ", transform.crop, "x", transform.crop},
                      .got = {image[1], "x", image[2]}});
  if (transform.mean.extents.rank > 0 && transform.mean.extents != image)
    throw data_error({.what = "an image has other extents than the mean file",
                      .where = where,
                      .expected = to_string(transform.mean.extents),
                      .got = to_string(image)});
  if (transform.means.size() > 1 && transform.means.size() != static_cast<std::size_t>(image[0]))
    throw data_error({.what = "the number of mean_value differs from the channels of an image",
                      .where = where,
                      .expected = {"1 or ", image[0]},
                      .got = {transform.means.size()}});
}

template <class T>
void transform_image(caffe_transform const& transform, std::span<T const> image, shape const& extents,
                     random_stream const& chance, std::string const& where, float* to) {
  shape const result = transform.result(extents, where);
  int const height = result[1], width = result[2];
  auto const offset = [&](int free, std::uint64_t number) {
    return transform.crops_randomly
               ? static_cast<int>(chance.below(number, static_cast<std::uint64_t>(free) + 1))
               : free / 2;
  };
  int const top = offset(extents[1] - height, 0), left = offset(extents[2] - width, 1);
  bool const mirrored = transform.mirror && chance.below(2, 2) == 1;
  auto const scale = static_cast<float>(transform.scale);
  for (int c = 0; c < result[0]; ++c) {
    float const subtracted =
        transform.means.empty()
            ? 0
            : transform.means[transform.means.size() == 1 ? 0 : static_cast<std::size_t>(c)];
    for (int y = 0; y < height; ++y) {
      std::size_t const row = (static_cast<std::size_t>(c) * static_cast<std::size_t>(extents[1])
                               + static_cast<std::size_t>(top + y))
                                  * static_cast<std::size_t>(extents[2])
                              + static_cast<std::size_t>(left);
      for (int x = 0; x < width; ++x) {
        std::size_t const from = row + static_cast<std::size_t>(x);
        float const mean = transform.mean.values.empty() ? subtracted : transform.mean.values[from];
        to[mirrored ? width - 1 - x : x] = (static_cast<float>(image[from]) - mean) * scale;
      }
      to += width;
    }
  }
}

}  // namespace detail

caffe_mean caffe_mean::read(std::string const& path) {
  return parse(io::read_text(path, std::uint64_t{1} << 30), path);
}

caffe_mean caffe_mean::parse(std::string_view bytes, std::string const& where) {
  detail::protobuf_reader in(bytes, where, "cannot read the mean file");
  detail::caffe_blob blob = detail::read_blob(in);
  caffe_mean result{.extents = detail::image_extents(blob.dims, blob.values.size())};
  result.values = std::move(blob.values);
  if (result.extents.rank == 0)
    throw data_error({.what = "a mean file does not contain one image",
                      .where = where,
                      .expected = "a blob of 1 x channels x height x width, with as many values",
                      .got = {result.values.size(), " values and other extents"}});
  return result;
}

caffe_transform caffe_transform::from(prototxt_message const& param, bool crops_randomly) {
  param.expect_only(detail::caffe_transform_fields);
  caffe_transform result{.scale = param.number("scale", 1),
                         .mirror = param.boolean("mirror", false),
                         .crops_randomly = crops_randomly,
                         .force_color = param.boolean("force_color", false),
                         .force_gray = param.boolean("force_gray", false)};
  std::int64_t const crop = param.integer("crop_size", 0);
  if (crop < 0 || crop > std::numeric_limits<int>::max())
    param.refuse("crop_size", {"invalid window"}, {"at least 0"}, {crop});
  result.crop = static_cast<int>(crop);
  for (double const value : param.numbers("mean_value")) result.means.push_back(static_cast<float>(value));
  if (param.has("mean_file") && !result.means.empty())
    param.refuse("mean_file", {"the transformation has two means"}, {"mean_file or mean_value"}, {"both"});
  if (result.force_color && result.force_gray)
    param.refuse("force_gray", {"images cannot be colour and grey"}, {"force_color or force_gray"}, {"both"});
  if (param.has("mean_file")) result.mean = caffe_mean::read(param.text("mean_file"));
  return result;
}

shape caffe_transform::result(shape const& image, std::string const& where) const {
  detail::require_fit(*this, image, where);
  return crop > 0 ? shape(image[0], crop, crop) : image;
}

void caffe_transform::write(std::span<std::uint8_t const> image, shape const& extents,
                            random_stream const& chance, std::string const& where, float* to) const {
  detail::transform_image(*this, image, extents, chance, where, to);
}

void caffe_transform::write(std::span<float const> image, shape const& extents, random_stream const& chance,
                            std::string const& where, float* to) const {
  detail::transform_image(*this, image, extents, chance, where, to);
}

}  // namespace cohort
