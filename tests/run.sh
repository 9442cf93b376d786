#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the tests and examples in build/tests, runs all tests except the long tests and the long cases of
# others, which the preset full contains, and prints the number of skipped cases:
#   bash tests/run.sh [flags of ctest]
# The environment variable CXX selects the compiler.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/cmake/steps.sh"
cd "$root"
bash cmake/setup.sh
step "Configuring build/tests" cmake --preset release -B build/tests -DCOHORT_BUILD_BENCHMARKS=OFF \
  || fail "Configuring failed."
step "Building the tests and examples in build/tests" cmake --build build/tests \
  || fail "Building failed."
rm -f build/tests/Testing/Temporary/LastTest.log
status=0
ctest --test-dir build/tests --output-on-failure --no-tests=error --parallel 4 "$@" || status=$?
python3 tests/skips.py build/tests || status=1
exit "$status"
