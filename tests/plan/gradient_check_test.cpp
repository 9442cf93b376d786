// SPDX-License-Identifier: Apache-2.0
// suites: gradients
#include <gtest/gtest.h>
#include <cohort/plan/gradient_check.hpp>

#include "../backend/operations.hpp"

namespace gradient_check_test {

/// Largest error of a correct gradient, as the checker guarantees.
constexpr double tolerance = 1e-6;

class gradients : public testing::Test {
 public:
  explicit gradients(operations::row const& r) : row_(r) {}
  void TestBody() override {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      auto const report =
          cohort::check_gradients(operations::network_of(row_, seed, true), {.seed = seed, .samples = 12});
      EXPECT_LE(report.relative_error, tolerance)
          << "seed " << seed << ", " << report.parameter << '[' << report.element << "]: backward gives "
          << report.analytic << ", differences give " << report.numeric;
      EXPECT_GT(report.compared, 0);
    }
  }

 private:
  operations::row const& row_;
};

bool const registered = [] {
  operations::each_row([&](operations::row const& r) {
    testing::RegisterTest("gradients", r.name, nullptr, nullptr, __FILE__, __LINE__,
                          [&r]() -> testing::Test* { return new gradients(r); });
  });
  return true;
}();

}  // namespace gradient_check_test
