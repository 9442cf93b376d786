// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/data/dataset.hpp>
#include <cohort/data/description.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/image/crop.hpp>
#include <cohort/image/decode.hpp>
#include <cohort/image/resize.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort {

/// What becomes of an image that has another size than the examples.
enum class fitting {
  refuse,   ///< data_error naming it
  stretch,  ///< resized to that size, in other proportions if need be
  cover     ///< resized in its own proportions until it covers that size, then the middle is cut out
};

/// How files become examples. Field order: what they become, which labels, which limits.
struct image_settings {
  int channels = 3;  ///< 3 (red, green, blue) or 1 (grey)
  int height = 0;    ///< of every example; 0 and 0: those of the first file
  int width = 0;
  fitting other_sizes = fitting::refuse;
  std::vector<std::string> labels =
      {};                ///< the classes in the order of their numbers; none: those found, sorted
  bool keyed = false;    ///< examples carry their path as key
  bool salvage = false;  ///< takes what can be had of a cut or damaged JPEG
  std::int64_t max_pixels = std::int64_t{1} << 26;    ///< of a file's image, refused before memory is taken
  std::size_t max_file_bytes = std::size_t{1} << 28;  ///< of a file
};

namespace detail {

/// The image in the size of the examples.
inline image fitted(image from, int height, int width, fitting how, std::string const& where) {
  if (from.height() == height && from.width() == width) return from;
  if (how == fitting::refuse)
    throw data_error({.what = "the image has another size",
                      .where = where,
                      .expected = {height, 'x', width},
                      .got = {from.height(), 'x', from.width()}});
  if (how == fitting::stretch) return resized(from, height, width);
  auto const scaled = [](int extent, int to, int of) {  // rounded to nearest
    return static_cast<int>((2 * std::int64_t{extent} * to + of) / (2 * std::int64_t{of}));
  };
  bool const by_height = std::int64_t{height} * from.width()
                         >= std::int64_t{width} * from.height();  // height needs the larger scale
  int const h = by_height ? height : std::max(height, scaled(from.height(), width, from.width()));
  int const w = by_height ? std::max(width, scaled(from.width(), height, from.height())) : width;
  return cropped(resized(from, h, w), centre_window(h, w, height, width));
}

/// Makes examples of files: what data sets of image files share.
class image_reader {
 public:
  image_reader(image_settings settings, std::vector<std::string> labels) : settings_(std::move(settings)) {
    check(how());
    auto const refuse = [](char const* field, char const* expected, std::int64_t got) {
      throw setting_error(
          {.what = "the images' settings make no sense", .where = field, .expected = expected, .got = {got}});
    };
    if (settings_.height < 0 || settings_.height > 1 << 16) refuse("height", "0 to 65536", settings_.height);
    if (settings_.width < 0 || settings_.width > 1 << 16) refuse("width", "0 to 65536", settings_.width);
    if ((settings_.height == 0) != (settings_.width == 0))
      refuse(settings_.height == 0 ? "height" : "width", "both extents or none", 0);
    settings_.labels = std::move(labels);
  }

  /// The size of the examples, if the settings do not say it: that of the first file.
  bool needs_size() const { return settings_.height == 0; }
  void take_size_of(std::span<std::byte const> file, std::string const& where) {
    shape const size = image_size(file, where);
    if (std::int64_t{size[1]} * size[2] <= settings_.max_pixels) {  // else its decoding refuses it
      settings_.height = size[1];
      settings_.width = size[2];
    } else {
      decoded(file, where, how());
    }
  }

  data_description describe() const {
    return {.inputs = {{.name = "input",
                        .example = {settings_.channels, settings_.height, settings_.width},
                        .stored = element_type::u8,
                        .type = element_type::f32,
                        .scale = 1 / 255.0}},
            .targets = {{.name = "label",
                         .stored = element_type::i32,
                         .type = element_type::i32,
                         .classes = static_cast<int>(settings_.labels.size()),
                         .label_names = settings_.labels}},
            .masks = {},
            .keyed = settings_.keyed};
  }

  void write(std::span<std::byte const> file, std::string const& where, std::string const& path,
             std::int32_t label, example_view& out) const {
    image const made =
        fitted(decoded(file, where, how()), settings_.height, settings_.width, settings_.other_sizes, where);
    std::memcpy(out.fill(0), made.pixels.data(), made.pixels.size());
    std::memcpy(out.fill(1), &label, sizeof label);
    if (settings_.keyed) out.key = path;
  }

  std::size_t max_file_bytes() const { return settings_.max_file_bytes; }

 private:
  decoding how() const {
    return {.channels = settings_.channels, .max_pixels = settings_.max_pixels, .salvage = settings_.salvage};
  }

  image_settings settings_;
};

/// Whether a file counts: hidden ones do not, others must be images by their names.
inline bool is_image_file(std::string_view name, std::string const& where) {
  if (name.starts_with('.')) return false;
  std::size_t const dot = name.rfind('.');
  std::string ending(dot == std::string_view::npos ? std::string_view() : name.substr(dot + 1));
  for (char& c : ending) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  if (ending == "jpg" || ending == "jpeg" || ending == "png") return true;
  throw data_error({.what = "this is no image file",
                    .where = where,
                    .expected = "a name that ends in .jpg, .jpeg or .png, or begins with a dot",
                    .got = {name}});
}

/// Refuses a list of labels that names one twice.
inline void require_unique(std::vector<std::string> labels) {
  std::sort(labels.begin(), labels.end());
  auto const twice = std::adjacent_find(labels.begin(), labels.end());
  if (twice != labels.end())
    throw setting_error(
        {.what = "a label is given twice", .where = "labels", .expected = "each once", .got = *twice});
}

}  // namespace detail
}  // namespace cohort
