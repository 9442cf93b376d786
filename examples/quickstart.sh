#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs missing tools, builds lenet_mnist, and trains LeNet on MNIST for one epoch with two ranks and
# parameter averaging:
#     bash examples/quickstart.sh [flags]
# The flags are passed to lenet_mnist (see its --help) and override the values below.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/cmake/steps.sh"
data=--data
for flag in "$@"; do
  case $flag in --data | --data=*) data= ;; esac
done
bash "$root/cmake/setup.sh" --examples $data
step "Configuring build/quickstart" cmake -S "$root" --preset release -B "$root/build/quickstart" \
  -DCOHORT_BUILD_TESTS=OFF -DCOHORT_BUILD_BENCHMARKS=OFF || fail "Configuring failed."
step "Building the example lenet_mnist" cmake --build "$root/build/quickstart" --target lenet_mnist \
  || fail "Building failed."
exec "$root/build/quickstart/examples/lenet_mnist" --ranks 2 --strategy averaging --every 5 --epochs 1 "$@"
