// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/codec/detail/block_coding.hpp>
#include <cohort/codec/message.hpp>
#include <cohort/execution/detail/simd_vector.hpp>
#include <cohort/execution/isa.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cohort::detail {

/// What take_threshold writes to behind the list: a vector is stored whole.
inline constexpr std::size_t list_slack = 16;

/// y = r + x of one element with threshold t: what is sent is added to the list or to the multiples, and r keeps the rest.
///
/// Errors    numeric_error if y is not finite; r is unchanged.
void take_one(float& r, float y, float t, std::uint64_t index, sent_element*& list,
              std::vector<sent_multiple>& multiples);

/// r += x, and ±t out of every element of at least t, for elements of one block, the first of which has this index.
///
/// Before    t is a bf16 between smallest_threshold and largest_threshold; the list has room for n + list_slack.
/// Moves     8n bytes in, 4n out.
/// Exact     the same r and list on every instruction set.
void take_threshold([[maybe_unused]] isa which, float* r, float const* x, std::size_t n, float t,
                    std::uint64_t first, sent_element*& list, std::vector<sent_multiple>& multiples);

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/codec/impl/threshold_simd.ipp>
#endif
