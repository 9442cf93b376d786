// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cohort/plan/machine_peaks.hpp>

namespace machine_peaks_test {

using namespace cohort;

/// One thread's peak is within a factor of 4 of the rate that this test measures for the same operations. A
/// busy machine slows down one of the two measurements, so there are several attempts.
TEST(machine_peaks, are_within_a_factor_of_4_of_timed_operations) {
  using clock = std::chrono::steady_clock;
  double ratio = 0;
  for (int attempt = 0; attempt < 20 && !(ratio > 0.25 && ratio < 4); ++attempt) {
    machine_peaks const measured = measure_peaks(1);
    EXPECT_GT(measured.bytes_per_second, 0);
    double fastest = 0;
    for (int round = 0; round < 5; ++round) {
      alignas(64) float out[16]{};
      auto const start = clock::now();
      double const operations = detail::multiply_and_add(best_isa(), out, 1'000'000);
      fastest = std::max(fastest, operations / std::chrono::duration<double>(clock::now() - start).count());
    }
    ratio = measured.flops / fastest;
  }
  EXPECT_GT(ratio, 0.25);
  EXPECT_LT(ratio, 4);
}

/// Every instruction set counts its operations. The counts are equal except for the vector width.
TEST(machine_peaks, count_operations_of_each_instruction_set) {
  for (isa const which : {isa::baseline, isa::avx2, isa::avx512}) {
    if (which > machine_isa()) continue;
    float out[16]{};
    double const lanes = which == isa::baseline ? 4 : which == isa::avx2 ? 8 : 16;
    EXPECT_EQ(detail::multiply_and_add(which, out, 100), 2 * 10 * lanes * 100);
    EXPECT_NEAR(out[0], 0, 1e-6) << "ten series of halves, of 0 to 9";
  }
}

}  // namespace machine_peaks_test
