// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/dataset.hpp>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace cohort::detail {

/// Returns a random order of 0 … count − 1. With labels, the order is sorted by label, so that an even
/// division of the order divides each class evenly.
std::vector<std::int64_t> order_to_divide(std::int64_t count, std::span<std::int64_t const> labels,
                                          std::uint64_t seed, std::string_view purpose);

/// Checks the fractions of a split.
///
/// Errors    setting_error if a fraction is not between 0 and 1, or their sum is not 1.
void check_fractions(std::span<double const> fractions);

/// Divides `order` into one part per fraction. The elements of each part are spread evenly over `order`, so a
/// part of an order sorted by label has its fraction of each class. Returns each part sorted by index.
///
/// Before    check_fractions(fractions) succeeds.
/// Errors    setting_error if a part is empty.
std::vector<std::vector<std::int64_t>> divide(std::vector<std::int64_t> order,
                                              std::span<double const> fractions);

/// Returns the class label of the first target of every example.
///
/// Errors    setting_error if the first target is not one class label; data_error if a label is out of range.
std::vector<std::int64_t> labels_of(dataset const& data);

}  // namespace cohort::detail
