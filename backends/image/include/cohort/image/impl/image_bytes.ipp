// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/image/detail/image_bytes.hpp>
#include <cohort/image/detail/planes_of.hpp>

namespace cohort::detail {

std::span<std::byte const> image_bytes::bytes(std::size_t count) {
  if (position_ > file_.size() || count > file_.size() - position_)
    refuse("an undamaged file", "a file that ends after " + std::to_string(file_.size()) + " bytes");
  position_ += count;
  return file_.subspan(position_ - count, count);
}

std::uint32_t image_bytes::number(std::size_t width) {
  std::span<std::byte const> const from = bytes(width);
  std::uint32_t value = 0;
  for (std::size_t k = 0; k < width; ++k) value |= std::to_integer<std::uint32_t>(from[k]) << (8 * k);
  return value;
}

void image_bytes::refuse(char const* expected, std::string const& got) const {
  throw data_error(
      {.what = {"cannot decode the ", format_}, .where = where_, .expected = expected, .got = got});
}

colour_table::colour_table() {
  for (std::size_t i = 0; i < colours_.size(); ++i) colours_[i].fill(static_cast<std::uint8_t>(i));
}

void colour_table::store(std::span<std::byte const> entries, std::size_t step,
                         std::array<std::size_t, 3> order) {
  std::size_t const count = std::min(entries.size() / step, colours_.size());
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t c = 0; c < 3; ++c)
      colours_[i][c] = std::to_integer<std::uint8_t>(entries[i * step + order[c]]);
}

image colour_table::applied_to(std::vector<std::uint8_t> const& indices, int channels, int height,
                               int width) const {
  image to(channels, height, width);
  for (int c = 0; c < channels; ++c) {
    std::array<std::uint8_t, 256> values{};
    for (std::size_t i = 0; i < values.size(); ++i) {
      auto const& [red, green, blue] = colours_[i];
      values[i] = channels == 1 ? luma(red, green, blue) : colours_[i][static_cast<std::size_t>(c)];
    }
    std::transform(indices.begin(), indices.end(), to.plane(c),
                   [&](std::uint8_t index) { return values[index]; });
  }
  return to;
}

}  // namespace cohort::detail
