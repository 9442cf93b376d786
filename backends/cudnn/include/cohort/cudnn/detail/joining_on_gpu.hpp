// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/gpu_operation.hpp>
#include <cohort/layer/arithmetic.hpp>
#include <cohort/layer/join.hpp>

namespace cohort::detail {

/// Prepares a sum. One kernel adds the first two inputs; a further kernel adds each further input. Each
/// kernel rounds its result to the layout's type.
///
/// Errors    for `add` and `multiply`: backend_error naming the layer if an input is broadcast.
gpu_operation prepare(gpu_target const& where, gpu_request const& request, add const&);

gpu_operation prepare(gpu_target const& where, gpu_request const& request, average const& layer);

/// Prepares a product. Backward multiplies diff_output by the other inputs. It does not divide by the input,
/// because the input may contain zeros.
gpu_operation prepare(gpu_target const& where, gpu_request const& request, multiply const& layer);

/// Prepares a maximum. For each element, forward stores in the workspace the index of the largest input.
gpu_operation prepare(gpu_target const& where, gpu_request const& request, maximum const& layer);

/// Prepares a concatenation, which copies rows of the inputs into parts of the output's rows. A row is an
/// example or, with channels last, a position of an example.
gpu_operation prepare(gpu_target const& where, gpu_request const& request, concatenate const&);

}  // namespace cohort::detail
