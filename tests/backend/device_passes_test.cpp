// SPDX-License-Identifier: Apache-2.0
// suites: device_passes_ladder
#include "device_passes.hpp"

#include "ladder.hpp"

namespace device_passes_test {

bool const registered = ladder::register_ladder<device_passes<float>>("device_passes_ladder");

TEST(device_passes, registers_all_conformance_tests) { EXPECT_TRUE(registered); }

TEST(device_passes, keeps_the_host_from_accessing_device_memory) {
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
