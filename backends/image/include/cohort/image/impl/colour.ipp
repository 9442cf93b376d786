// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cmath>
#include <cohort/detail/config.hpp>
#include <cohort/image/colour.hpp>
#include <cstddef>
#include <utility>

namespace cohort::detail {

COHORT_IMAGE_INLINE std::uint8_t mixed_byte(float factor, float value, float other) {
  return static_cast<std::uint8_t>(std::clamp(factor * value + (1 - factor) * other, 0.0F, 255.0F));
}

/// Grey value of a colour with torchvision's weights, truncated.
COHORT_IMAGE_INLINE std::uint8_t grey_of(std::uint8_t red, std::uint8_t green, std::uint8_t blue) {
  return static_cast<std::uint8_t>(0.2989F * red + 0.587F * green + 0.114F * blue);
}

/// Mixes every pixel with one value.
COHORT_IMAGE_INLINE void mix_with(float other, float factor, std::uint8_t* pixels, std::size_t count) {
  std::array<std::uint8_t, 256> mixed;
  for (std::size_t value = 0; value < mixed.size(); ++value)
    mixed[value] = mixed_byte(factor, static_cast<float>(value), other);
  for (std::size_t i = 0; i < count; ++i) pixels[i] = mixed[pixels[i]];
}

COHORT_IMAGE_INLINE float mean_grey(std::uint8_t const* pixels, int channels, std::size_t places) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < places; ++i)
    sum += channels == 1 ? pixels[i] : grey_of(pixels[i], pixels[places + i], pixels[2 * places + i]);
  return static_cast<float>(static_cast<double>(sum) / static_cast<double>(places));
}

COHORT_IMAGE_INLINE void change_saturation(std::uint8_t* pixels, std::size_t places, float factor) {
  for (std::size_t i = 0; i < places; ++i) {
    float const grey = grey_of(pixels[i], pixels[places + i], pixels[2 * places + i]);
    for (std::size_t c = 0; c < 3; ++c)
      pixels[c * places + i] = mixed_byte(factor, pixels[c * places + i], grey);
  }
}

/// A colour with its hue shifted by `shift` turns.
///
/// Units     0 to 255.
COHORT_IMAGE_INLINE std::array<std::uint8_t, 3> shifted_hue(std::array<std::uint8_t, 3> const& colour,
                                                            float shift) {
  float const r = static_cast<float>(colour[0]) / 255, g = static_cast<float>(colour[1]) / 255,
              b = static_cast<float>(colour[2]) / 255;
  float const most = std::max({r, g, b}), range = most - std::min({r, g, b});
  float const saturation = range > 0 ? range / most : 0, divisor = range > 0 ? range : 1;
  float const from_r = (most - r) / divisor, from_g = (most - g) / divisor, from_b = (most - b) / divisor;
  float const sixths = most == r ? from_b - from_g : most == g ? 2 + from_r - from_b : 4 + from_g - from_r;
  float hue = std::fmod(sixths / 6 + 1, 1.0F) + shift;
  hue -= std::floor(hue);
  float const sextant = std::floor(hue * 6), within = hue * 6 - sextant;
  float const p = most * (1 - saturation), q = most * (1 - saturation * within),
              t = most * (1 - saturation * (1 - within));
  float const sextants[6][3]{{most, t, p}, {q, most, p}, {p, most, t},
                             {p, q, most}, {t, p, most}, {most, p, q}};
  std::array<std::uint8_t, 3> made{};
  for (std::size_t c = 0; c < 3; ++c) {
    float const value = sextants[static_cast<int>(sextant) % 6][c];
    made[c] = static_cast<std::uint8_t>(std::clamp(value, 0.0F, 1.0F) * (256.0F - 1e-3F));
  }
  return made;
}

COHORT_IMAGE_INLINE void change_hue(std::uint8_t* pixels, std::size_t places, float shift) {
  for (std::size_t i = 0; i < places; ++i) {
    auto const made = shifted_hue({pixels[i], pixels[places + i], pixels[2 * places + i]}, shift);
    for (std::size_t c = 0; c < 3; ++c) pixels[c * places + i] = made[c];
  }
}

COHORT_IMAGE_INLINE void recolour(std::uint8_t* pixels, shape const& dims, colour_change const& how) {
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

COHORT_IMAGE_INLINE colour_change drawn(colour_jitter const& how, random_stream const& chance,
                                        std::uint64_t first) {
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

COHORT_IMAGE_INLINE image recoloured(image const& from, colour_change const& how) {
  image made = from;
  if (!made.pixels.empty()) detail::recolour(made.pixels.data(), made.dims, how);
  return made;
}

}  // namespace cohort
