// SPDX-License-Identifier: Apache-2.0
#include <cohort/image.hpp>
#include <cstdio>

int main() {
  try {
    cohort::decoded({}, "nothing.png");  // links TurboJPEG and libpng
    cohort::file_batches("nowhere");     // links zlib
  } catch (cohort::data_error const& expected) {
    std::puts(expected.what());
    return 0;
  }
  return 1;
}
