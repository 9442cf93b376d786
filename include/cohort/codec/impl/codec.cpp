// SPDX-License-Identifier: Apache-2.0
#include <cohort/codec/impl/message.ipp>
#include <cohort/codec/impl/message_codec.ipp>
#include <cohort/codec/impl/message_reader.ipp>
#include <cohort/codec/impl/message_writer.ipp>
#include <cohort/codec/impl/residual_policy.ipp>
#include <cohort/codec/impl/residual_simd.ipp>
#include <cohort/codec/impl/tensor_table.ipp>
#include <cohort/codec/impl/threshold_compressor.ipp>
#include <cohort/codec/impl/threshold_policy.ipp>
#include <cohort/codec/impl/threshold_simd.ipp>
#include <cohort/codec/impl/top_k_compressor.ipp>
