// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/image/colour.hpp>
#include <cohort/random/stream.hpp>
#include <cohort/tensor/shape.hpp>
#include <cstddef>
#include <utility>

namespace cohort::detail {

std::uint8_t mixed_byte(float factor, float value, float other) {
  return static_cast<std::uint8_t>(std::clamp(factor * value + (1 - factor) * other, 0.0F, 255.0F));
}

/// Returns the grey value of a colour with torchvision's weights, truncated.
std::uint8_t grey_of(std::uint8_t red, std::uint8_t green, std::uint8_t blue) {
  return static_cast<std::uint8_t>(0.2989F * red + 0.587F * green + 0.114F * blue);
}

/// Mixes every pixel with the value `other`.
void mix_with(float other, float factor, std::uint8_t* pixels, std::size_t count) {
  std::array<std::uint8_t, 256> mixed;
  for (std::size_t value = 0; value < mixed.size(); ++value)
    mixed[value] = mixed_byte(factor, static_cast<float>(value), other);
  for (std::size_t i = 0; i < count; ++i) pixels[i] = mixed[pixels[i]];
}

float mean_grey(std::uint8_t const* pixels, int channels, std::size_t places) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < places; ++i)
    sum += channels == 1 ? pixels[i] : grey_of(pixels[i], pixels[places + i], pixels[2 * places + i]);
  return static_cast<float>(static_cast<double>(sum) / static_cast<double>(places));
}

void change_saturation(std::uint8_t* pixels, std::size_t places, float factor) {
  for (std::size_t i = 0; i < places; ++i) {
    float const grey = grey_of(pixels[i], pixels[places + i], pixels[2 * places + i]);
    for (std::size_t c = 0; c < 3; ++c)
      pixels[c * places + i] = mixed_byte(factor, pixels[c * places + i], grey);
  }
}

/// Returns a table of k / 255 for each byte k.
std::array<float, 256> const& unit_fractions() {
  static std::array<float, 256> const made = [] {
    std::array<float, 256> values{};
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) / 255;
    return values;
  }();
  return made;
}

/// Shifts the hue of a colour by `shift` turns.
///
/// Units     r, g, b: 0 to 1.
/// Before    −1 ≤ shift ≤ 1.
void shift_hue(float& r, float& g, float& b, float shift) {
  float const most = std::max({r, g, b}), range = most - std::min({r, g, b});
  if (!(range > 0)) return;  // grey
  float const saturation = range / most;
  float const from_r = (most - r) / range, from_g = (most - g) / range, from_b = (most - b) / range;
  float const sixths = most == r ? from_b - from_g : most == g ? 2 + from_r - from_b : 4 + from_g - from_r;
  float const turns = sixths / 6 + 1;
  float hue = (turns >= 1 ? turns - 1 : turns) + shift;
  if (hue < 0) hue += 1;
  if (hue >= 1) hue -= 1;
  int const sextant = static_cast<int>(hue * 6);
  float const within = hue * 6 - static_cast<float>(sextant);
  float const low = most * (1 - saturation), falling = most * (1 - saturation * within),
              rising = most * (1 - saturation * (1 - within));
  switch (sextant) {
    case 1:
      r = falling, g = most, b = low;
      break;
    case 2:
      r = low, g = most, b = rising;
      break;
    case 3:
      r = low, g = falling, b = most;
      break;
    case 4:
      r = rising, g = low, b = most;
      break;
    case 5:
      r = most, g = low, b = falling;
      break;
    default:
      r = most, g = rising, b = low;
  }
}

void change_hue(std::uint8_t* pixels, std::size_t places, float shift) {
  std::array<float, 256> const& fractions = unit_fractions();
  auto const byte_of = [](float value) {
    return static_cast<std::uint8_t>(std::clamp(value, 0.0F, 1.0F) * (256.0F - 1e-3F));
  };
  for (std::size_t i = 0; i < places; ++i) {
    std::uint8_t &red = pixels[i], &green = pixels[places + i], &blue = pixels[2 * places + i];
    float r = fractions[red], g = fractions[green], b = fractions[blue];
    shift_hue(r, g, b, shift);
    red = byte_of(r);
    green = byte_of(g);
    blue = byte_of(b);
  }
}

void recolour(std::uint8_t* pixels, shape const& dims, colour_change const& how) {
  auto const count = static_cast<std::size_t>(dims.elements());
  std::size_t const places = count / static_cast<std::size_t>(dims[0]);
  bool const coloured = dims[0] == 3;
  for (int const change : how.order) {
    if (change == 0 && how.brightness != 1)
      mix_with(0, static_cast<float>(how.brightness), pixels, count);
    else if (change == 1 && how.contrast != 1)
      mix_with(mean_grey(pixels, dims[0], places), static_cast<float>(how.contrast), pixels, count);
    else if (change == 2 && how.saturation != 1 && coloured)
      change_saturation(pixels, places, static_cast<float>(how.saturation));
    else if (change == 3 && how.hue != 0 && coloured)
      change_hue(pixels, places, static_cast<float>(how.hue));
  }
}

void check(colour_change const& how) {
  auto const require = [](char const* field, double value, double least, double most, char const* valid) {
    if (!(value >= least && value <= most))
      throw setting_error(
          {.what = "invalid change of colour", .where = field, .expected = valid, .got = {value}});
  };
  require("brightness", how.brightness, 0, 1e6, "0 to 1e6");
  require("contrast", how.contrast, 0, 1e6, "0 to 1e6");
  require("saturation", how.saturation, 0, 1e6, "0 to 1e6");
  require("hue", how.hue, -1, 1, "-1 to 1 turns");
  std::array<int, 4> sorted = how.order;
  std::ranges::sort(sorted);
  if (sorted != std::array{0, 1, 2, 3})
    throw setting_error({.what = "invalid change of colour",
                         .where = "order",
                         .expected = "each of 0, 1, 2, 3 once",
                         .got = {how.order[0], ", ", how.order[1], ", ", how.order[2], ", ", how.order[3]}});
}

colour_change drawn(colour_jitter const& how, random_stream const& chance, std::uint64_t first) {
  auto const between = [&](std::uint64_t i, double least, double most) {
    return least + (most - least) * chance.uniform01<double>(first + i);
  };
  auto const factor = [&](std::uint64_t i, double range) {
    return range > 0 ? between(i, std::max(0.0, 1 - range), 1 + range) : 1.0;
  };
  colour_change made{factor(0, how.brightness), factor(1, how.contrast), factor(2, how.saturation),
                     how.hue > 0 ? between(3, -how.hue, how.hue) : 0.0};
  std::uint64_t permutation = chance.below(first + 4, 24);
  for (std::size_t left = 4; left > 1; --left) {
    std::swap(made.order[left - 1], made.order[permutation % left]);
    permutation /= left;
  }
  return made;
}

}  // namespace cohort::detail

namespace cohort {

image recoloured(image const& from, colour_change const& how) {
  detail::check(how);
  if (!from.pixels.empty() && from.channels() != 1 && from.channels() != 3)
    throw shape_error({.what = "only grey and coloured images have colours to change",
                       .where = "recoloured",
                       .expected = "1 or 3 channels",
                       .got = {from.channels()}});
  image made = from;
  if (!made.pixels.empty()) detail::recolour(made.pixels.data(), made.dims, how);
  return made;
}

}  // namespace cohort
