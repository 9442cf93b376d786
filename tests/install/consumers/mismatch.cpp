// SPDX-License-Identifier: Apache-2.0
#include <cohort/checkpoint/safetensors.hpp>

int main() {
  auto const none = cohort::safetensors::load("none");
  return none.tensors().empty() ? 0 : 1;
}
