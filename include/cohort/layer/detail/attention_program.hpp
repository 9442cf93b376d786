// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/detail/attention_host.hpp>
#include <cohort/layer/detail/composed_kernel.hpp>

namespace cohort::detail {

/// Attention on a backend, in f32 or bf16. The heads of all examples are distributed over the threads; each
/// thread uses a separate part of the scratch memory.
composed_kernel compose_attention(attention_sizes const& sizes, composed_request const& request,
                                  product_backend& backend);

}  // namespace cohort::detail
