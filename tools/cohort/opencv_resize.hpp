// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cohort_program {

/// Two neighbouring elements of an axis and their weights in units of 1/2048, for each element of a resized
/// axis.
struct resize_tap {
  std::ptrdiff_t first, second;
  std::int64_t first_weight, second_weight;
};

inline std::vector<resize_tap> resize_taps(int from, int to, bool is_horizontal) {
  std::vector<resize_tap> result;
  double const scale = 1 / (static_cast<double>(to) / from);
  for (int k = 0; k < to; ++k) {
    auto part = static_cast<float>((k + 0.5) * scale - 0.5);
    int first = static_cast<int>(std::floor(part));
    part -= static_cast<float>(first);
    if (is_horizontal && (first < 0 || first >= from - 1)) part = 0;
    int const last = from - 1;
    result.push_back({std::clamp(first, 0, last), std::clamp(first + 1, 0, last),
                      std::lrint((1 - part) * 2048), std::lrint(part * 2048)});
  }
  return result;
}

/// Resizes planes of bytes by cv::resize of OpenCV with INTER_LINEAR: bilinear, without antialiasing.
///
/// Exact     the bytes of OpenCV, which computes in fixed-point numbers.
/// Source    github.com/opencv/opencv, modules/imgproc/src/resize.cpp.
inline std::vector<std::uint8_t> resized_as_by_opencv(std::span<std::uint8_t const> planes, int channels,
                                                      int height, int width, int new_height, int new_width) {
  std::vector<resize_tap> const columns = resize_taps(width, new_width, true),
                                rows = resize_taps(height, new_height, false);
  std::vector<std::int64_t> wide(static_cast<std::size_t>(height) * columns.size());
  std::vector<std::uint8_t> result;
  result.reserve(static_cast<std::size_t>(channels) * rows.size() * columns.size());
  std::uint8_t const* from = planes.data();
  for (int channel = 0; channel < channels; ++channel) {
    std::int64_t* to = wide.data();
    for (int y = 0; y < height; ++y, from += width)
      for (resize_tap const& x : columns)
        *to++ = from[x.first] * x.first_weight + from[x.second] * x.second_weight;
    for (resize_tap const& y : rows) {
      std::int64_t const* const above = wide.data() + y.first * new_width;
      std::int64_t const* const below = wide.data() + y.second * new_width;
      for (int x = 0; x < new_width; ++x) {
        std::int64_t const sum =
            ((y.first_weight * (above[x] >> 4)) >> 16) + ((y.second_weight * (below[x] >> 4)) >> 16);
        result.push_back(static_cast<std::uint8_t>((sum + 2) >> 2));
      }
    }
  }
  return result;
}

}  // namespace cohort_program
