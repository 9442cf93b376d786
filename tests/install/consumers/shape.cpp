// SPDX-License-Identifier: Apache-2.0
#include <cohort/random/stream.hpp>
#include <cohort/tensor/shape.hpp>

int main() { return cohort::shape{1, 28, 28}.elements() == 784 ? 0 : 1; }
