// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <omp.h>
#include <cohort/backend/operation.hpp>
#include <cohort/layer/conv2d.hpp>
#include <cohort/onednn/backend.hpp>
#include <optional>

/// What compilers call for `omp parallel`: this header is compiled without -fopenmp too.
extern "C" void GOMP_parallel(void (*run)(void*), void* data, unsigned threads, unsigned flags);

namespace cohort::detail {

/// Whether `to` holds the transformed weights of a convolution whose weights lie as `from`.
bool is_winograd(memory_layout const& from, memory_layout const& to);

/// Weights K×C×r×r → G·g·Gᵀ, (16, C, K) in the layout that the products want.
dnnl_kernel winograd_weights(dnnl_engine_handle const& engine, memory_layout const& from,
                             memory_layout const& to);

/// A convolution at inference by Winograd's way, where that saves work: kernels of 3×3 and 2×2, in f32.
///
/// Exact     to rounding, 2e-6 of the largest output for 256 channels: transforms of 4 points add and halve alone.
/// Source    Lavin and Gray, Fast algorithms for convolutional neural networks, CVPR 2016.
[[gnu::noinline]] std::optional<operation<onednn>> prepare_winograd(dnnl_target const& on,
                                                                    operation_request<onednn> const& request,
                                                                    conv2d const& l);

}  // namespace cohort::detail

#ifndef COHORT_ONEDNN_COMPILED
#include <cohort/onednn/impl/winograd.ipp>
#endif
