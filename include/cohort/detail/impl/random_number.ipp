// SPDX-License-Identifier: Apache-2.0
#include <cohort/detail/random_number.hpp>
#include <random>

namespace cohort::detail {

std::uint64_t random_number() {
  std::random_device random;
  std::uint64_t number = 0;
  while (number == 0) number = std::uint64_t{random()} << 32 | random();
  return number;
}

}  // namespace cohort::detail
