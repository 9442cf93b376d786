// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/image/image.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cohort {

namespace detail {

/// What each place of a resized axis takes from which places of the old one: whole numbers, so that nothing is rounded.
struct resize_axis {
  struct place {
    int first = 0;  ///< the first old place that it takes from
    int count = 0;
    std::size_t weights = 0;  ///< where its weights begin in the list
    std::uint64_t sum = 0;    ///< of its weights
  };
  std::vector<place> places;
  std::vector<std::uint32_t> weights;
  std::uint64_t largest_sum = 0;

  /// The weight of old place j for the new place i is how far the distance of their centres is from the reach of a
  /// triangle that is as wide as two of the larger pixels; all times 2·from·to.  Before: 0 < from, to ≤ 2¹⁶.
  resize_axis(int from, int to);
};

/// sum / total, rounded to nearest, halves up: the quotient in `Real` may be one off, and is then put right.
///
/// Before    0 ≤ sum ≤ 255 · total, and `Sum` holds 512 · total.
template <class Sum, class Real>
std::uint8_t rounded_quotient(Sum sum, Sum total) {
  auto const near = static_cast<Sum>(static_cast<Real>(sum) / static_cast<Real>(total) + Real{0.5});
  Sum const rest = 2 * sum + total - 2 * near * total;
  return static_cast<std::uint8_t>(near + static_cast<Sum>(rest >= 2 * total) - static_cast<Sum>(rest < 0));
}

}  // namespace detail

/// The image in another size: bilinear, and where it becomes smaller each new pixel is a mean over all the old ones
/// under its triangle (antialiasing), as Pillow's BILINEAR and PyTorch's interpolate(antialias=True) weigh them.
///
/// Shapes    channels × height × width; extents up to 65,536.
/// Errors    shape_error for extents out of range.
/// Exact     each pixel is the exact weighted mean, rounded once, halves up: whole numbers, no floating point decides.
image resized(image const& from, int height, int width);

}  // namespace cohort

#ifndef COHORT_IMAGE_COMPILED
#include <cohort/image/impl/resize.ipp>
#endif
