// SPDX-License-Identifier: Apache-2.0
#include <cohort/onednn/detail/implementation.hpp>
#include <cohort/onednn/impl/activation.ipp>
#include <cohort/onednn/impl/activation_simd.ipp>
#include <cohort/onednn/impl/backend.ipp>
#include <cohort/onednn/impl/composed.ipp>
#include <cohort/onednn/impl/convolution.ipp>
#include <cohort/onednn/impl/deconvolution.ipp>
#include <cohort/onednn/impl/elementwise.ipp>
#include <cohort/onednn/impl/handle.ipp>
#include <cohort/onednn/impl/inner_product.ipp>
#include <cohort/onednn/impl/joining.ipp>
#include <cohort/onednn/impl/kernel.ipp>
#include <cohort/onednn/impl/layout_candidates.ipp>
#include <cohort/onednn/impl/matmul.ipp>
#include <cohort/onednn/impl/norm_on_panels.ipp>
#include <cohort/onednn/impl/norm_simd.ipp>
#include <cohort/onednn/impl/norm_statistics.ipp>
#include <cohort/onednn/impl/normalisation.ipp>
#include <cohort/onednn/impl/onednn.ipp>
#include <cohort/onednn/impl/pooling.ipp>
#include <cohort/onednn/impl/primitive.ipp>
#include <cohort/onednn/impl/rectified_norm.ipp>
#include <cohort/onednn/impl/rounding.ipp>
#include <cohort/onednn/impl/sequence.ipp>
#include <cohort/onednn/impl/threads.ipp>
#include <cohort/onednn/impl/weighted.ipp>
#include <cohort/onednn/impl/winograd.ipp>
#include <cohort/onednn/impl/winograd_simd.ipp>

COHORT_IS_IMPLEMENTATION(cohort_onednn_src_hpp)
