// SPDX-License-Identifier: Apache-2.0
#include <cohort/layer/layers.hpp>
#include <cohort/onednn/detail/activation.hpp>
#include <cohort/onednn/detail/handle.hpp>

namespace cohort::detail {

dnnl_activation activation_of(kind const& k, double const* fields) {
  dnnl_activation made = *find_activation(k);
  if (k.slots > 0) made.alpha = static_cast<float>(fields[0]);
  return made;
}

}  // namespace cohort::detail
