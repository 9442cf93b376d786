// SPDX-License-Identifier: Apache-2.0
// A shared library that contains Cohort, whose symbols are hidden, and exports the function that the build
// names.
#include "process_state.hpp"

[[gnu::visibility("default")]] process_state EXPORTED_FUNCTION() { return {}; }
