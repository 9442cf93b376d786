// SPDX-License-Identifier: Apache-2.0
#include <cohort/cudnn.hpp>
#include <cstdio>

// No CUDA library is linked, so the program starts on any machine and reports why it cannot use a GPU.
int main() {
  cohort::availability const found = cohort::cudnn::probe();
  std::puts(found.usable ? "usable" : found.reason.c_str());
  return found.usable == found.reason.empty() ? 0 : 1;
}
