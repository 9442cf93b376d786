// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/codec/detail/block_coding.hpp>
#include <cohort/codec/message.hpp>
#include <cohort/execution/isa.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cohort::detail {

/// Number of elements after the end of the list that extract_above_threshold may overwrite, because this
/// function stores whole vectors.
inline constexpr std::size_t list_slack = 16;

/// Processes one element y = r + x with threshold t. If the element is sent, appends it to the list or to the
/// multiples. Stores the remainder in r.
///
/// Errors    numeric_error if y is not finite; r is unchanged.
void extract_one(float& r, float y, float t, std::uint64_t index, sent_element*& list,
                 std::vector<sent_multiple>& multiples);

/// r += x, then subtracts ±t from every element whose magnitude is at least t and appends the element to the
/// list. Elements with magnitudes above most_thresholds · t are sent as multiples of t instead.
///
/// Shapes    r, x: n elements of one block; `first` is the index of the first element in the flat view.
/// Before    t is a bf16 between smallest_threshold and largest_threshold. The list has room for n +
///           list_slack elements.
/// Errors    numeric_error if an element of r + x is not finite.
/// Exact     the same r and list on every instruction set.
/// Cost      reads 8n bytes, writes 4n bytes.
void extract_above_threshold([[maybe_unused]] isa which, float* r, float const* x, std::size_t n, float t,
                             std::uint64_t first, sent_element*& list, std::vector<sent_multiple>& multiples);

}  // namespace cohort::detail
