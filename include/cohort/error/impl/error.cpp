// SPDX-License-Identifier: Apache-2.0
#include <cohort/detail/build_check.hpp>
#include <cohort/error/impl/exceptions.ipp>
#include <cohort/error/impl/nearest_name.ipp>

COHORT_IS_IMPLEMENTATION(cohort_src_hpp)
