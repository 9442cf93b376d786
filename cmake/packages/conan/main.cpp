// SPDX-License-Identifier: Apache-2.0
// Trains a small network on two ranks with the installed headers: the program for packages without onednn.
#include <cohort/backend/reference.hpp>
#include "../../../tests/install/consumers/training.hpp"

int main() { return checksum_after_training<cohort::reference<float>>(cohort::allreduce{}).empty() ? 1 : 0; }
