// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cohort/error/exceptions.hpp>
#include <cohort/image/augmented.hpp>
#include <cohort/image/colour.hpp>
#include <cohort/image/detail/copy_window.hpp>
#include <cohort/image/rotate.hpp>
#include <cohort/random/stream.hpp>
#include <cohort/tensor/finite.hpp>
#include <vector>

namespace cohort::detail {

/// Draws the window to erase from the stream's elements 9, 10, …. It has no area with probability 1 −
/// how.probability, or if none of ten drawn windows fits.
image_window erased_window(random_erasing const& how, int height, int width, random_stream const& chance) {
  std::uint64_t next = 9;
  if (chance.uniform01<double>(next++) >= how.probability) return {};
  auto const between = [&](double least, double most) {
    return least + (most - least) * chance.uniform01<double>(next++);
  };
  for (int attempt = 0; attempt < 10; ++attempt) {
    double const area = static_cast<double>(height) * width * between(how.least_area, how.most_area),
                 ratio = std::exp(between(std::log(how.least_ratio), std::log(how.most_ratio)));
    double const h = std::round(std::sqrt(area * ratio)), w = std::round(std::sqrt(area / ratio));
    if (h < 1 || w < 1 || h >= height || w >= width) continue;
    image_window made{0, 0, static_cast<int>(h), static_cast<int>(w)};
    made.top = static_cast<int>(chance.below(next++, static_cast<std::uint64_t>(height - made.height + 1)));
    made.left = static_cast<int>(chance.below(next++, static_cast<std::uint64_t>(width - made.width + 1)));
    return made;
  }
  return {};
}

void check(augmentation const& how, tensor_description const& images) {
  auto const refuse_unless = [](bool valid, char const* field, char const* expected, text_piece got) {
    if (!valid)
      throw setting_error(
          {.what = "invalid augmentation", .where = field, .expected = expected, .got = {got}});
  };
  auto const window_fits = [&](char const* field, int extent, int window) {
    refuse_unless(window > 0, field, "at least 1, or 0 for the extent of the image", window);
    if (window > extent + 2 * how.padding)
      throw shape_error({.what = "the window is larger than the padded image",
                         .where = field,
                         .expected = {"at most ", extent + 2 * how.padding},
                         .got = {window}});
  };
  refuse_unless(how.padding >= 0 && how.padding <= 1 << 16, "padding", "0 to 65536", how.padding);
  refuse_unless(how.padding == 0 || how.place == placing::anywhere, "padding",
                "0, or .place = placing::anywhere", how.padding);
  window_fits("height", images.example[1], how.height);
  window_fits("width", images.example[2], how.width);
  auto const in = [&](double value, double least, double most) {
    return is_finite(value) && value >= least && value <= most;
  };
  auto const is_byte = [](int value) { return value >= 0 && value <= 255; };
  refuse_unless(in(how.rotation, 0, 360), "rotation", "0 to 360 degrees", how.rotation);
  refuse_unless(is_byte(how.fill), "fill", "0 to 255", how.fill);
  for (auto const& [field, range] : {std::pair{"colour.brightness", how.colour.brightness},
                                     {"colour.contrast", how.colour.contrast},
                                     {"colour.saturation", how.colour.saturation}})
    refuse_unless(in(range, 0, 1e6), field, "0 to 1e6", range);
  refuse_unless(in(how.colour.hue, 0, 0.5), "colour.hue", "0 to 0.5 turns", how.colour.hue);
  random_erasing const& erase = how.erase;
  refuse_unless(in(erase.probability, 0, 1), "erase.probability", "0 to 1", erase.probability);
  refuse_unless(in(erase.most_area, 0, 1), "erase.most_area", "0 to 1", erase.most_area);
  refuse_unless(in(erase.least_area, 0, erase.most_area), "erase.least_area", "0 to most_area",
                erase.least_area);
  refuse_unless(in(erase.most_ratio, 1e-6, 1e6), "erase.most_ratio", "1e-6 to 1e6", erase.most_ratio);
  refuse_unless(in(erase.least_ratio, 1e-6, erase.most_ratio), "erase.least_ratio", "1e-6 to most_ratio",
                erase.least_ratio);
  refuse_unless(is_byte(erase.fill), "erase.fill", "0 to 255", erase.fill);
  bool const recolours = how.colour != colour_jitter{};
  bool const writes = recolours || how.rotation > 0 || erase.probability > 0;
  if (writes && images.stored != element_type::u8)
    throw shape_error({.what = "rotation, colours and erasing need images of bytes",
                       .where = images.name,
                       .expected = "u8 in the data set",
                       .got = {name_of(images.stored)}});
  if (recolours && images.example[0] != 1 && images.example[0] != 3)
    throw shape_error({.what = "only grey and coloured images have colours to change",
                       .where = images.name,
                       .expected = "1 or 3 channels",
                       .got = {images.example[0]}});
}

std::vector<shape> moved_images(augmentation const& how, data_description const& what) {
  tensor_description const& first = what.inputs[0];
  int const height = first.example[1], width = first.example[2];
  bool const moves =
      how.flip || how.rotation > 0 || how.padding > 0 || how.height != height || how.width != width;
  std::vector<shape> moved(what.parts());
  moved[0] = first.example;
  for (std::size_t part = 0; moves && part < what.inputs.size() + what.targets.size(); ++part) {
    tensor_description const& one = what.part(part);
    bool const is_plane = one.example == shape(height, width);
    std::int64_t const elements = one.example.elements();
    if (one.example.rank != 3 && !is_plane && elements > 1
        && (elements == std::int64_t{height} * width || elements == first.example.elements()))
      throw shape_error(
          {.what = "a part with as many elements as the image may be an image, which would not move "
                   "with the first input",
           .where = one.name,
           .expected = {"the shape ", height, 'x', width, " or channels x ", height, 'x', width,
                        " of an image; or another number of elements"},
           .got = to_string(one.example)});
    if (one.example.rank != 3 && !is_plane) continue;
    shape const dims = is_plane ? shape(1, height, width) : one.example;
    if (part > 0 && dims[1] == 1 && dims[2] == 1) continue;  // a vector
    auto const refuse = [&](char const* problem, clause expected, clause got) {
      throw shape_error(
          {.what = problem, .where = one.name, .expected = std::move(expected), .got = std::move(got)});
    };
    if (dims[1] != height || dims[2] != width)
      refuse("an image of other extents cannot be moved with the first input",
             {height, 'x', width, " as in ", first.name,
              ", or an augmentation without window, flip and rotation"},
             to_string(one.example));
    if (one.channels.size() > static_cast<std::size_t>(dims[0]))
      refuse("an image whose elements have separate scalings cannot be moved",
             "at most one scaling per channel; normalise after the augmentation",
             {one.channels.size(), " scalings"});
    if (part > 0 && how.rotation > 0 && (one.stored != element_type::u8 || one.classes > 0))
      refuse("rotation needs images of bytes", "u8 in the data set, and no class labels, which it would mix",
             one.classes > 0 ? clause("class labels") : clause{name_of(one.stored)});
    moved[part] = dims;
  }
  return moved;
}

void move_image(std::byte const* from, shape const& dims, element_type type, augmentation const& how,
                augmentation_draw const& chance, std::byte* rotated, std::byte* to) {
  if (chance.degrees != 0) {
    rotate(reinterpret_cast<std::uint8_t const*>(from), dims, chance.degrees, how.fill,
           reinterpret_cast<std::uint8_t*>(rotated));
    from = rotated;
  }
  switch (bytes_of(type)) {
    case 1:
      return copy_window<1>(from, dims, chance.window, chance.flip, to);
    case 2:
      return copy_window<2>(from, dims, chance.window, chance.flip, to);
    case 4:
      return copy_window<4>(from, dims, chance.window, chance.flip, to);
    default:
      return copy_window<8>(from, dims, chance.window, chance.flip, to);
  }
}

void change_bytes(std::byte* image, shape const& dims, augmentation const& how,
                  augmentation_draw const& chance) {
  shape const made(dims[0], chance.window.height, chance.window.width);
  auto* const pixels = reinterpret_cast<std::uint8_t*>(image);
  if (how.colour != colour_jitter{}) recolour(pixels, made, chance.colour);
  image_window const& erased = chance.erased;
  for (int channel = 0; channel < made[0]; ++channel)
    for (int y = erased.top; y < erased.top + erased.height; ++y)
      std::fill_n(pixels + (std::int64_t{channel} * made[1] + y) * made[2] + erased.left, erased.width,
                  static_cast<std::uint8_t>(how.erase.fill));
}

}  // namespace cohort::detail

namespace cohort {

augmentation_draw drawn(augmentation const& how, int height, int width, std::int64_t epoch,
                        std::int64_t index) {
  random_stream const chance(how.seed, "augmentation", static_cast<std::uint64_t>(epoch),
                             static_cast<std::uint64_t>(index));
  augmentation_draw made{centre_window(height, width, how.height, how.width)};
  if (how.place == placing::anywhere) {
    auto const start = [&](std::uint64_t which, int whole, int part) {
      auto const places = static_cast<std::uint64_t>(whole + 2 * how.padding - part + 1);
      return static_cast<int>(chance.below(which, places)) - how.padding;
    };
    made.window.top = start(0, height, how.height);
    made.window.left = start(1, width, how.width);
  }
  made.flip = how.flip && chance.below(2, 2) == 1;
  if (how.rotation > 0) made.degrees = how.rotation * (2 * chance.uniform01<double>(3) - 1);
  if (how.colour != colour_jitter{}) made.colour = detail::drawn(how.colour, chance, 4);
  if (how.erase.probability > 0)
    made.erased = detail::erased_window(how.erase, how.height, how.width, chance);
  return made;
}

}  // namespace cohort
