// SPDX-License-Identifier: Apache-2.0
// suites: elsewhere
#include "elsewhere.hpp"

#include "ladder.hpp"

namespace elsewhere_test {

bool const registered = ladder::register_ladder<device_passes<float>>("elsewhere");

TEST(device_passes, has_its_rungs) { EXPECT_TRUE(registered); }

TEST(device_passes, is_memory_that_nobody_can_touch) {
  locked_memory memory;
  std::byte* const at = memory.allocate(100);
  EXPECT_DEATH(*at = std::byte{1}, "");
  {
    locked_memory::opened const now(memory);
    *at = std::byte{1};
  }
  EXPECT_DEATH(*at = std::byte{1}, "");
}

}  // namespace elsewhere_test
