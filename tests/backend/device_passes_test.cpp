// SPDX-License-Identifier: Apache-2.0
// suites: device_passes_ladder
#include "device_passes.hpp"

#include "ladder.hpp"

namespace device_passes_test {

bool const registered = ladder::register_ladder<device_passes<float>>("device_passes_ladder");

TEST(device_passes, has_its_rungs) { EXPECT_TRUE(registered); }

TEST(device_passes, has_memory_that_the_host_cannot_access) {
  locked_memory memory;
  std::byte* const at = memory.allocate(100);
  EXPECT_DEATH(*at = std::byte{1}, "");
  {
    locked_memory::opened const now(memory);
    *at = std::byte{1};
  }
  EXPECT_DEATH(*at = std::byte{1}, "");
}

}  // namespace device_passes_test
