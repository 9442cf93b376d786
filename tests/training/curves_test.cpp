// SPDX-License-Identifier: Apache-2.0
// label: slow
// uses: onednn
#include "golden_curves.hpp"

#include <cohort/backend/reference.hpp>
#if __has_include(<cohort/onednn.hpp>)
#include <cohort/onednn.hpp>
#endif

namespace curves_test {

using namespace cohort;

#if __has_include(<cohort/onednn.hpp>)
using fast = onednn;
#else
using fast = reference<float>;
#endif

TEST(loss_curves, in_double_equal_the_curves_of_pytorch) {
  golden_curves::expect_all<reference<double>>(20, 1e-8);
}
TEST(loss_curves, in_single_precision_match_pytorch_in_the_first_5_steps) {
  golden_curves::expect_all<fast>(5, 1e-3);
}

}  // namespace curves_test
