// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/description.hpp>
#include <cohort/detail/config.hpp>

namespace cohort {

COHORT_CORE_INLINE std::size_t data_description::parts() const {
  return inputs.size() + targets.size() + masks.size();
}

COHORT_CORE_INLINE tensor_description const& data_description::part(std::size_t which) const {
  if (which < inputs.size()) return inputs[which];
  which -= inputs.size();
  return which < targets.size() ? targets[which] : masks[which - targets.size()];
}

}  // namespace cohort
