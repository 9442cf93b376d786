// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/detail/text.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/image/crop.hpp>
#include <cohort/image/detail/exif_orientation.hpp>
#include <cohort/image/detail/image_reader.hpp>
#include <cohort/image/resize.hpp>
#include <cstring>
#include <utility>

namespace cohort::detail {

image fit_to_size(image from, int height, int width, fitting how, std::string const& where) {
  if (from.height() == height && from.width() == width) return from;
  if (how == fitting::refuse)
    throw data_error({.what = "the image has another size",
                      .where = where,
                      .expected = {height, 'x', width},
                      .got = {from.height(), 'x', from.width()}});
  auto const refuse_extents = [&](std::int64_t h, std::int64_t w) {
    if (std::max({std::int64_t{from.height()}, std::int64_t{from.width()}, h, w}) <= largest_resized) return;
    throw data_error({.what = "the image cannot be resized",
                      .where = where,
                      .expected = {"extents up to ", largest_resized},
                      .got = {from.height(), 'x', from.width(), ", to be resized to ", h, 'x', w}});
  };
  refuse_extents(height, width);
  if (how == fitting::stretch) return resized(from, height, width);
  auto const scaled = [](std::int64_t extent, std::int64_t to, std::int64_t of) {  // rounded to nearest
    return (2 * extent * to + of) / (2 * of);
  };
  bool const by_height = std::int64_t{height} * from.width()
                         >= std::int64_t{width} * from.height();  // height needs the larger scale
  std::int64_t const h =
      by_height ? height : std::max<std::int64_t>(height, scaled(from.height(), width, from.width()));
  std::int64_t const w =
      by_height ? std::max<std::int64_t>(width, scaled(from.width(), height, from.height())) : width;
  refuse_extents(h, w);
  auto const tall = static_cast<int>(h), wide = static_cast<int>(w);
  return cropped(resized(from, tall, wide), centre_window(tall, wide, height, width));
}

image_reader::image_reader(image_settings settings, std::vector<std::string> labels)
    : settings_(std::move(settings)) {
  check(how());
  auto const refuse = [](char const* field, char const* expected, std::int64_t got) {
    throw setting_error(
        {.what = "invalid image settings", .where = field, .expected = expected, .got = {got}});
  };
  if (settings_.height < 0 || settings_.height > largest_resized)
    refuse("height", "0 to 65536", settings_.height);
  if (settings_.width < 0 || settings_.width > largest_resized)
    refuse("width", "0 to 65536", settings_.width);
  if ((settings_.height == 0) != (settings_.width == 0))
    refuse(settings_.height == 0 ? "height" : "width", "both extents or none", 0);
  settings_.labels = std::move(labels);
  if (!settings_.ignored_orientations)
    settings_.ignored_orientations = std::make_shared<std::atomic<std::int64_t>>(0);
  names_ = settings_.words.empty() ? settings_.labels : named_classes(settings_.labels, settings_.words);
}

void image_reader::use_size_of(std::span<std::byte const> file, std::string const& where) {
  shape const size = size_to_decode(file, where, how());
  settings_.height = size[1];
  settings_.width = size[2];
}

void image_reader::use_size(int height, int width) {
  settings_.height = height;
  settings_.width = width;
}

data_description image_reader::describe() const {
  data_description made{.inputs = {{.name = "input",
                                    .example = {settings_.channels, settings_.height, settings_.width},
                                    .stored = element_type::u8,
                                    .type = element_type::f32,
                                    .scale = 1 / 255.0}},
                        .targets = {{.name = "label",
                                     .stored = element_type::i32,
                                     .type = element_type::i32,
                                     .classes = static_cast<int>(settings_.labels.size()),
                                     .label_names = names_}},
                        .masks = {},
                        .keyed = settings_.keyed};
  normalise(made.inputs[0], settings_.normalise);
  return made;
}

void image_reader::write(std::span<std::byte const> file, std::string const& where, std::string_view path,
                         std::int32_t label, example_view& out) const {
  if (file.size() > settings_.max_file_bytes)
    throw data_error(
        {.what = "an image file is too large",
         .where = where,
         .expected = {"at most ", settings_.max_file_bytes, " bytes (image_settings::max_file_bytes)"},
         .got = {file.size()}});
  image picture = decoded(file, where, how());
  if (!settings_.apply_exif_orientation) report_orientation(file, where);
  write(std::move(picture), where, path, label, out);
}

void image_reader::write(image from, std::string const& where, std::string_view path, std::int32_t label,
                         example_view& out) const {
  image const made =
      fit_to_size(std::move(from), settings_.height, settings_.width, settings_.other_sizes, where);
  std::memcpy(out.fill(0), made.pixels.data(), made.pixels.size());
  std::memcpy(out.fill(1), &label, sizeof label);
  if (settings_.keyed) out.key = path;
}

decoding image_reader::how() const {
  return {.channels = settings_.channels,
          .max_pixels = settings_.max_pixels,
          .salvage = settings_.salvage,
          .apply_exif_orientation = settings_.apply_exif_orientation};
}

void image_reader::report_orientation(std::span<std::byte const> file, std::string const& where) const {
  int const orientation = exif_orientation(file);
  if (orientation == 1 || (*settings_.ignored_orientations)++ > 0 || !settings_.log) return;
  settings_.log(
      text_of({"the EXIF orientation of an image is not applied (", where, "): orientation ", orientation,
               "; .apply_exif_orientation = true shows such images upright; further images are not "
               "listed"}));
}

bool is_image_file(std::string_view name, std::string const& where) {
  if (name.starts_with('.')) return false;
  std::size_t const dot = name.rfind('.');
  std::string ending(dot == std::string_view::npos ? std::string_view() : name.substr(dot + 1));
  for (char& c : ending) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  if (std::ranges::find(image_endings, ending) != std::end(image_endings)) return true;
  std::string endings;
  for (std::string_view const known : image_endings) endings += " ." + std::string(known);
  throw data_error({.what = "not an image file",
                    .where = where,
                    .expected = {"a name that begins with a dot or ends in one of", endings},
                    .got = {name}});
}

}  // namespace cohort::detail
