// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cohort/audio/detail/fourier_transform.hpp>
#include <numbers>

namespace cohort::detail {

fourier_transform::fourier_transform(int length) {
  for (int k = 0; k < length; ++k) roots_.push_back(std::polar(1.0, -2 * std::numbers::pi * k / length));
}

void fourier_transform::part(std::complex<double> const* from, std::size_t step, std::size_t length,
                             std::complex<double>* to) const {
  if (length == 1) {
    *to = *from;
    return;
  }
  std::size_t radix = 2;
  while (length % radix != 0) ++radix;  // the smallest prime factor
  std::size_t const m = length / radix;
  for (std::size_t r = 0; r < radix; ++r) part(from + r * step, step * radix, m, to + r * m);
  std::vector<std::complex<double>> terms(radix);
  for (std::size_t k = 0; k < m; ++k) {
    for (std::size_t r = 0; r < radix; ++r) terms[r] = to[r * m + k];
    for (std::size_t q = 0; q < radix; ++q) {
      std::complex<double> sum = 0;
      for (std::size_t r = 0; r < radix; ++r) sum += terms[r] * roots_[r * (k + q * m) % length * step];
      to[q * m + k] = sum;
    }
  }
}

}  // namespace cohort::detail
