// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <array>
#include <cohort/io/detail/host_identity.hpp>
#include <fstream>

namespace cohort::detail {

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::string host_identity() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return host_name() + ' ' + boot;
}

}  // namespace cohort::detail
