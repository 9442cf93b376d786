// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/dataset.hpp>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace cohort::detail {

/// Returns a random order of 0 … count − 1. With labels, it is sorted by label, so that dividing it evenly
/// divides each class evenly.
std::vector<std::int64_t> order_to_divide(std::int64_t count, std::span<std::int64_t const> labels,
                                          std::uint64_t seed, std::string_view purpose);

/// Errors    setting_error if a fraction is not between 0 and 1, or their sum is not 1.
void check_fractions(std::span<double const> fractions);

/// Divides an order into parts of these fractions, each spread evenly over the order, and sorts the parts.
///
/// Before    check_fractions(fractions).
/// Errors    setting_error if a part is empty.
std::vector<std::vector<std::int64_t>> divide(std::vector<std::int64_t> order,
                                              std::span<double const> fractions);

/// Returns the class labels of all examples' first target.
///
/// Errors    setting_error if there are none; data_error if one is out of range.
std::vector<std::int64_t> labels_of(dataset const& data);

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/data/impl/divide_indices.ipp>
#endif
