// SPDX-License-Identifier: Apache-2.0
// mode: header-only
// label: slow
#include <cohort/onednn.hpp>
// Headers that are included after the backend's header must compile, although its internals are declared.
#include <gtest/gtest.h>
#include <cohort/cohort.hpp>
#include <cohort/layer/recurrent.hpp>

namespace include_order_test {

using namespace cohort;

TEST(include_order, is_free) {
  constexpr auto net = network<[](builder& b) {
    return b.input({4, 2}) | conv1d{.filters = 3, .kernel = 3} | lstm{.units = 3, .last_step = true}
           | dense{.units = 2} | softmax_cross_entropy{};
  }>();
  training const made = trainer<onednn>(net);
  EXPECT_GT(made.parameters().elements(), 0);
}

}  // namespace include_order_test
