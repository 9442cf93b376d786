// SPDX-License-Identifier: Apache-2.0
#include <cohort/plan/replica.hpp>
#include <cohort/tensor/buffer.hpp>

namespace cohort {

std::size_t replica::bytes() const {
  return static_cast<std::size_t>(parameters.elements()) * bytes_of(parameters.type());
}

void replica::restore_frozen(int array, std::byte* dense) const {
  for (int p = 0; p < static_cast<int>(parameters.table().size()); ++p)
    if (parameter const& one = parameters.table()[static_cast<std::size_t>(p)]; one.frozen)
      parameters.read(p, arena(array),
                      dense + static_cast<std::size_t>(one.first) * bytes_of(parameters.type()));
}

}  // namespace cohort
