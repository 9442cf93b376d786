// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/image/resize.hpp>
#include <cstring>
#include <numeric>

namespace cohort::detail {

resize_axis::resize_axis(int from, int to) {
  std::int64_t const common = std::gcd(from, to);
  std::int64_t const old_places = from / common;
  std::int64_t const new_places = to / common;
  std::int64_t const reach = 2 * std::max(old_places, new_places);
  places.reserve(static_cast<std::size_t>(to));
  for (std::int64_t i = 0; i < to; ++i) {
    std::int64_t const centre = (2 * i + 1) * old_places;
    // `first`: the first j with (2j + 1)·new_places > centre − reach; `last`: the first j with (2j +
    // 1)·new_places ≥ centre + reach.
    std::int64_t const below = centre - reach - new_places;
    std::int64_t const first = below < 0 ? 0 : below / (2 * new_places) + 1;
    std::int64_t const last =
        std::min<std::int64_t>(from, (centre + reach + new_places - 1) / (2 * new_places));
    place made{
        .first = static_cast<int>(first), .count = static_cast<int>(last - first), .weights = weights.size()};
    for (std::int64_t j = first; j < last; ++j) {
      std::int64_t const distance = (2 * j + 1) * new_places - centre;
      weights.push_back(static_cast<std::uint32_t>(reach - (distance < 0 ? -distance : distance)));
      made.sum += weights.back();
    }
    largest_sum = std::max(largest_sum, made.sum);
    places.push_back(made);
  }
}

/// Number of rows resized together. The rows' sums are interleaved, so that -O2 vectorises both passes.
inline constexpr int resize_lanes = 16;

/// Vertical pass for one new row: sums weight · pixel for each column x to sums[x · resize_lanes].
template <class Sum>
void sum_rows(resize_axis const& rows, resize_axis::place const& row, std::uint8_t const* plane,
              std::size_t width, Sum* sums) {
  constexpr std::size_t lanes = resize_lanes;
  std::uint8_t const* const top = plane + static_cast<std::size_t>(row.first) * width;
  std::uint32_t const* const weights = rows.weights.data() + row.weights;
  std::size_t x = 0;
  for (; x + lanes <= width; x += lanes) {
    Sum partial[lanes] = {};
    for (int k = 0; k < row.count; ++k) {
      std::uint8_t pixels[lanes];
      std::memcpy(pixels, top + static_cast<std::size_t>(k) * width + x, lanes);
      auto const weight = static_cast<Sum>(weights[k]);
      for (std::size_t l = 0; l < lanes; ++l) partial[l] += weight * pixels[l];
    }
    for (std::size_t l = 0; l < lanes; ++l) sums[(x + l) * lanes] = partial[l];
  }
  for (; x < width; ++x) {
    Sum sum = 0;
    for (int k = 0; k < row.count; ++k)
      sum += static_cast<Sum>(weights[k]) * top[static_cast<std::size_t>(k) * width + x];
    sums[x * lanes] = sum;
  }
}

/// Resizes all planes.
///
/// Before    `Sum` can represent 512 times the product of both axes' largest sums.
template <class Sum, class Real>
void resize_planes(image const& from, image& to, resize_axis const& rows, resize_axis const& columns) {
  constexpr int lanes = resize_lanes;
  auto const width = static_cast<std::size_t>(from.width());
  auto const new_width = static_cast<std::size_t>(to.width());
  std::vector<Sum> sums(width * lanes);
  Sum totals[lanes];  // sums of the rows' weights; unused lanes keep earlier values
  std::fill_n(totals, lanes, Sum{1});
  for (int channel = 0; channel < from.channels(); ++channel)
    for (int y = 0; y < to.height(); y += lanes) {
      int const count = std::min(lanes, to.height() - y);
      for (int l = 0; l < count; ++l) {
        resize_axis::place const& row = rows.places[static_cast<std::size_t>(y + l)];
        sum_rows(rows, row, from.plane(channel), width, sums.data() + l);
        totals[l] = static_cast<Sum>(row.sum);
      }
      std::uint8_t* const out = to.plane(channel) + static_cast<std::size_t>(y) * new_width;
      for (std::size_t x = 0; x < new_width; ++x) {
        resize_axis::place const& column = columns.places[x];
        Sum const* const below = sums.data() + static_cast<std::size_t>(column.first) * lanes;
        std::uint32_t const* const weights = columns.weights.data() + column.weights;
        Sum sum[lanes] = {};
        for (int k = 0; k < column.count; ++k) {
          auto const weight = static_cast<Sum>(weights[k]);
          for (int l = 0; l < lanes; ++l) sum[l] += weight * below[k * lanes + l];
        }
        std::uint8_t pixels[lanes];
        for (int l = 0; l < lanes; ++l)
          pixels[l] = rounded_quotient<Sum, Real>(sum[l], totals[l] * static_cast<Sum>(column.sum));
        for (int l = 0; l < count; ++l) out[static_cast<std::size_t>(l) * new_width + x] = pixels[l];
      }
    }
}

}  // namespace cohort::detail

namespace cohort {

image resized(image const& from, int height, int width) {
  constexpr int most = detail::largest_resized;
  auto const possible = [](int extent) { return extent > 0 && extent <= most; };
  if (!possible(height) || !possible(width) || !possible(from.height()) || !possible(from.width()))
    throw shape_error({.what = "unsupported extents for resizing",
                       .where = "resized",
                       .expected = {"extents from 1 to ", most},
                       .got = {from.height(), 'x', from.width(), " to ", height, 'x', width}});
  if (from.height() == height && from.width() == width) return from;
  image to(from.channels(), height, width);
  detail::resize_axis const rows(from.height(), height);
  detail::resize_axis const columns(from.width(), width);
  __extension__ using wide = __int128;
  wide const largest = static_cast<wide>(rows.largest_sum) * static_cast<wide>(columns.largest_sum);
  if (largest < wide{1} << 22)
    detail::resize_planes<std::int32_t, float>(from, to, rows, columns);
  else if (largest < wide{1} << 54)
    detail::resize_planes<std::int64_t, double>(from, to, rows, columns);
  else
    detail::resize_planes<wide, double>(from, to, rows, columns);
  return to;
}

}  // namespace cohort
