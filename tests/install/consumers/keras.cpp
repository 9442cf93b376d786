// SPDX-License-Identifier: Apache-2.0
#include <cohort/keras.hpp>
#include <cstdio>

int main() {
  try {
    cohort::load_keras("nowhere.h5");
  } catch (cohort::file_error const&) {
    std::puts("no file: as expected");
    return 0;
  }
  return 1;
}
