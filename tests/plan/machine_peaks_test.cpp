// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/plan/machine_peaks.hpp>

namespace machine_peaks_test {

using namespace cohort;

/// Of any machine that runs the tests, sanitised or not.
TEST(machine_peaks, are_measured) {
  machine_peaks const measured = measure_peaks(2);
  EXPECT_GT(measured.flops, 1e7);
  EXPECT_LT(measured.flops, 1e14);
  EXPECT_GT(measured.bytes_per_second, 1e7);
  EXPECT_LT(measured.bytes_per_second, 1e14);
}

/// Every instruction set counts what it did: as many operations, but for the width of its vectors.
TEST(machine_peaks, counts_operations_of_each_instruction_set) {
  for (isa const which : {isa::baseline, isa::avx2, isa::avx512}) {
    if (which > machine_isa()) continue;
    float out[16]{};
    double const lanes = which == isa::baseline ? 4 : which == isa::avx2 ? 8 : 16;
    EXPECT_EQ(detail::multiply_and_add(which, out, 100), 2 * 10 * lanes * 100);
    EXPECT_NEAR(out[0], 0, 1e-6) << "ten series of halves, of 0 to 9";
  }
}

}  // namespace machine_peaks_test
