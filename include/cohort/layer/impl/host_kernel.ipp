// SPDX-License-Identifier: Apache-2.0
#include <cohort/error/exceptions.hpp>
#include <cohort/layer/host_kernel.hpp>

namespace cohort::detail {

void refuse_random_numbers(bool training) {
  throw setting_error({.what = "a layer's kernel has no random numbers in this call",
                       .where = "host_arguments::random",
                       .expected = training
                                       ? "static constexpr bool reads_scalars = true, a member of the layer"
                                       : "calls in training only: if (a.training)",
                       .got = training ? "a layer without reads_scalars" : "a call in prediction"});
}

}  // namespace cohort::detail
