// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <array>
#include <cohort/backend/host_call.hpp>

namespace host_call_test {

TEST(host_call, passes_addresses_in_the_order_of_the_operands) {
  int from = 3, to = 0, other = 0;
  std::array<void*, 2> const addresses{&from, &to};
  cohort::host_call call(
      [](std::span<void* const> a) { *static_cast<int*>(a[1]) = 2 * *static_cast<int const*>(a[0]); },
      addresses);
  call();
  EXPECT_EQ(to, 6);
  call.set(1, &other);
  from = 5;
  call();
  EXPECT_EQ(to, 6);
  EXPECT_EQ(other, 10);
}

}  // namespace host_call_test
