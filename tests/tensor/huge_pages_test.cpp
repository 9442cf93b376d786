// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/tensor/buffer.hpp>

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>

namespace huge_pages_test {

using cohort::buffer;

/// The system's flags for the mapping of an address; nothing if the system does not report them.
std::string flags_of(void const* address) {
  std::ifstream file("/proc/self/smaps");
  auto const wanted = reinterpret_cast<std::uintptr_t>(address);
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    std::uintptr_t first = 0, last = 0;
    char dash = 0;
    if (std::istringstream(line) >> std::hex >> first >> dash >> last && dash == '-')
      inside = first <= wanted && wanted < last;
    if (inside && line.starts_with("VmFlags:")) return line + ' ';
  }
  return {};
}

bool system_has_huge_pages() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string modes;
  std::getline(file, modes);
  return !modes.empty();
}

TEST(huge_pages, are_requested_for_large_buffers) {
  constexpr std::size_t large = 64 * cohort::detail::huge_page::bytes;
  buffer const memory(large), small(1000);
  std::string const flags = flags_of(memory.data() + large / 2);
  if (system_has_huge_pages() && !flags.empty()) {
    EXPECT_NE(flags.find(" hg "), std::string::npos) << flags;
    EXPECT_EQ(flags_of(small.data()).find(" hg "), std::string::npos);
  }
}

}  // namespace huge_pages_test
