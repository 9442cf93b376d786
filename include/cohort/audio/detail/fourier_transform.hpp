// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/audio/detail/implementation.hpp>
#include <complex>
#include <cstddef>
#include <vector>

namespace cohort::detail {

/// The discrete Fourier transform of a fixed length n ≥ 1: X_k = Σ_j x_j·exp(−2πi·jk/n).
///
/// Cost      O(n·Σ p) for the prime factors p of n.
/// Source    Cooley and Tukey, Mathematics of Computation 19 (1965), decimation in time with mixed radix.
class fourier_transform {
 public:
  explicit fourier_transform(int length);

  /// Transforms `from` to `to`, both of the length n, which must not overlap.
  void operator()(std::complex<double> const* from, std::complex<double>* to) const {
    part(from, 1, size(), to);
  }

  std::size_t size() const { return roots_.size(); }

 private:
  /// Transforms `length` elements of `from`, `step` apart.
  void part(std::complex<double> const* from, std::size_t step, std::size_t length,
            std::complex<double>* to) const;

  std::vector<std::complex<double>> roots_;  // exp(−2πi·k/n)
};

}  // namespace cohort::detail
