// SPDX-License-Identifier: Apache-2.0
#include <cohort/plan/gradient_parts.hpp>
#include <cohort/tensor/buffer.hpp>

namespace cohort {

std::span<std::byte* const> gradient_parts::all() const { return parts_; }

void gradient_parts::sum(bucket const& b) {
  if (parts_.size() < 2) return;
  for (int p = b.first_parameter; p < b.first_parameter + b.parameters; ++p)
    parameters_.passes().join(parts_, entry(p).offset, entry(p).room);
}

void gradient_parts::free_others(bucket const& b, std::span<index_slice const> kept) {
  if (kept.empty()) return;
  parameter_set::arena_range const range = parameters_.range_of(b);
  std::size_t const width = bytes_of(parameters_.type());
  auto const free_range = [&](std::size_t first, std::size_t end) {
    detail::free_pages(parts_[0] + (range.offset + first) * width, (end - first) * width);
  };
  std::size_t end = 0;
  for (index_slice const& part : kept) {
    free_range(end, static_cast<std::size_t>(part.first));
    end = static_cast<std::size_t>(part.first + part.count);
  }
  free_range(end, range.room);
}

void gradient_parts::pack(bucket const& b, std::byte* dense) {
  sum(b);
  for (int p = b.first_parameter; p < b.first_parameter + b.parameters; ++p)
    parameters_.read(p, parts_[0], dense + offset(b, p));
}

void gradient_parts::unpack(bucket const& b, std::byte const* dense) {
  for (int p = b.first_parameter; p < b.first_parameter + b.parameters; ++p)
    parameters_.write(p, dense + offset(b, p), parts_[0]);
}

std::size_t gradient_parts::offset(bucket const& b, int p) const {
  return static_cast<std::size_t>(entry(p).first - b.first) * bytes_of(parameters_.type());
}

}  // namespace cohort
