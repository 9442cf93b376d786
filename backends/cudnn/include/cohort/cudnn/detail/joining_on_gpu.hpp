// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/gpu_operation.hpp>
#include <cohort/layer/arithmetic.hpp>
#include <cohort/layer/join.hpp>

namespace cohort::detail {

/// One kernel adds the first two inputs; each further input is added by another kernel. Each kernel rounds
/// the sum to the layout's type.
///
/// Errors    backend_error naming the layer if an input is broadcast. `multiply` throws it, too.
gpu_operation prepare(gpu_target const& where, gpu_request const& request, add const&);

gpu_operation prepare(gpu_target const& where, gpu_request const& request, average const& layer);

/// Backward multiplies diff_output by the other inputs. It does not divide the output, because an input may
/// contain zeros.
gpu_operation prepare(gpu_target const& where, gpu_request const& request, multiply const& layer);

/// For each element, forward stores in the workspace which input has the largest value.
gpu_operation prepare(gpu_target const& where, gpu_request const& request, maximum const& layer);

/// Copies rows of the inputs into parts of the output's rows. A row is an example or, with channels last, a
/// position of an example.
gpu_operation prepare(gpu_target const& where, gpu_request const& request, concatenate const&);

}  // namespace cohort::detail
