// SPDX-License-Identifier: Apache-2.0
#include <cohort/plan/gradient_parts.hpp>

namespace cohort {

std::span<std::byte* const> gradient_parts::all() const { return parts_; }

void gradient_parts::sum(bucket const& b) {
  if (parts_.size() < 2) return;
  for (int p = b.first_parameter; p < b.first_parameter + b.parameters; ++p)
    parameters_.passes().join(parts_, entry(p).offset, entry(p).room);
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
