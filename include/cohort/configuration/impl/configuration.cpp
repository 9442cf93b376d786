// SPDX-License-Identifier: Apache-2.0
#include <cohort/configuration/detail/implementation.hpp>
#include <cohort/configuration/impl/run_document.ipp>

COHORT_IS_IMPLEMENTATION(cohort_configuration_src_hpp)
