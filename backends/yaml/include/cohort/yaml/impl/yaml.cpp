// SPDX-License-Identifier: Apache-2.0
#include <cohort/yaml/detail/implementation.hpp>
#include <cohort/yaml/impl/yaml.ipp>

COHORT_IS_IMPLEMENTATION(cohort_yaml_src_hpp)
