// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/image/image.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cohort {

namespace detail {

inline constexpr int largest_resized = 1 << 16;  // largest extent

/// Filter weights along one axis: for each new position, the old positions that contribute, and their
/// weights. All weights are integers, so that nothing is rounded.
struct resize_axis {
  struct place {
    int first = 0;  ///< first old position that contributes
    int count = 0;
    std::size_t weights = 0;  ///< index of this place's first weight in the list
    std::uint64_t sum = 0;    ///< sum of this place's weights
  };
  std::vector<place> places;
  std::vector<std::uint32_t> weights;
  std::uint64_t largest_sum = 0;

  /// Computes the weights of a triangle filter, whose radius is the larger of the old and the new pixel size:
  /// the weight of old position j for new position i is the radius minus the distance of their centres. All
  /// lengths are scaled by 2·lcm(from, to), so that they are integers.
  ///
  /// Before    0 < from, to ≤ 2¹⁶.
  resize_axis(int from, int to);
};

/// Returns sum / total, rounded to nearest, halves up. The quotient in `Real` may be off by one and is then
/// corrected.
///
/// Before    0 ≤ sum ≤ 255 · total, and `Sum` can represent 512 · total.
template <class Sum, class Real>
std::uint8_t rounded_quotient(Sum sum, Sum total) {
  auto const near = static_cast<Sum>(static_cast<Real>(sum) / static_cast<Real>(total) + Real{0.5});
  Sum const rest = 2 * sum + total - 2 * near * total;
  return static_cast<std::uint8_t>(near + static_cast<Sum>(rest >= 2 * total) - static_cast<Sum>(rest < 0));
}

}  // namespace detail

/// Resizes an image with a triangle filter: bilinear with antialiasing, as in Pillow's BILINEAR and PyTorch's
/// interpolate(antialias=True). If the image shrinks, each new pixel is the weighted mean of all old pixels
/// within the filter.
///
/// Shapes    channels × height × width; extents up to 65,536.
/// Errors    shape_error for extents out of range.
/// Exact     each pixel is the exact weighted mean, computed in integers and rounded once, halves up.
image resized(image const& from, int height, int width);

}  // namespace cohort
