// SPDX-License-Identifier: Apache-2.0
#include <cohort/checkpoint/safetensors.hpp>

int main() { return cohort::safetensors::load("none").tensors().empty() ? 0 : 1; }
