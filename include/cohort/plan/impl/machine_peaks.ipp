// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/detail/chrono.hpp>
#include <cohort/execution/detail/simd_vector.hpp>
#include <cohort/execution/flat_simd.hpp>
#include <cohort/execution/team.hpp>
#include <cohort/plan/machine_peaks.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cstddef>
#include <vector>

namespace cohort::detail {

#define COHORT_SIMD_BODY <cohort/plan/detail/fma_simd.inc>
#include <cohort/detail/simd_variants.inc>

double multiply_and_add([[maybe_unused]] isa which, float* out, std::int64_t rounds) {
#if defined(__x86_64__) || defined(__i386__)
  if (which == isa::avx512) return avx512_f32::multiply_and_add(out, rounds);
  if (which == isa::avx2) return avx2_f32::multiply_and_add(out, rounds);
#endif
  return baseline_f32::multiply_and_add(out, rounds);
}

}  // namespace cohort::detail

namespace cohort {

machine_peaks measure_peaks(int threads) {
  using clock = std::chrono::steady_clock;
  constexpr std::size_t all_elements = std::size_t{1} << 25;
  constexpr std::int64_t rounds = 400'000;
  std::size_t const elements = all_elements / static_cast<std::size_t>(threads);
  isa const which = best_isa();
  team workers(threads);
  std::vector<buffer> sums(static_cast<std::size_t>(threads)), more(sums.size());
  machine_peaks best;
  constexpr int rounds_of_each = 6;  // the first round allocates the arrays' pages
  for (int round = 0; round < rounds_of_each; ++round) {
    std::vector<double> flops(sums.size());
    auto const start = clock::now();
    workers.run([&](int w) {
      alignas(buffer::alignment) float out[16];
      std::fill_n(out, 16, 1.0F);  // avoids denormal numbers
      flops[static_cast<std::size_t>(w)] = detail::multiply_and_add(which, out, rounds);
    });
    auto const middle = clock::now();
    workers.run([&](int w) {
      auto const i = static_cast<std::size_t>(w);
      if (round == 0) sums[i] = buffer(elements * sizeof(float)), more[i] = buffer(elements * sizeof(float));
      float const* const parts[]{sums[i].as<float>(), more[i].as<float>()};
      sum_parts(which, sums[i].as<float>(), parts, 2, elements);
    });
    std::chrono::duration<double> const computing = middle - start, moving = clock::now() - middle;
    double all = 0;
    for (double const one : flops) all += one;
    best.flops = std::max(best.flops, all / computing.count());
    auto const bytes = static_cast<double>(3 * sizeof(float) * elements * sums.size());
    if (round > 0) best.bytes_per_second = std::max(best.bytes_per_second, bytes / moving.count());
  }
  return best;
}

}  // namespace cohort
