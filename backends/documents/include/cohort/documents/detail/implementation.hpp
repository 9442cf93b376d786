// SPDX-License-Identifier: Apache-2.0
#pragma once
// Every public header of this component includes this header.
#include <cohort/detail/build_check.hpp>

COHORT_USES_IMPLEMENTATION(cohort_documents_src_hpp)
