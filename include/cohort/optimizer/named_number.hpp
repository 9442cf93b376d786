// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/detail/build_check.hpp>
#include <cstddef>
#include <initializer_list>
#include <string_view>

namespace cohort {

/// Name and value of one numeric field of a setting. Hashes and kernels use this form.
struct named_number {
  std::string_view name;
  double value = 0;
  constexpr bool operator==(named_number const&) const = default;
};

/// Up to 20 named numbers, in the order of the fields.
struct named_numbers {
  std::array<named_number, 20> items{};
  std::size_t count = 0;

  constexpr named_numbers() = default;
  constexpr named_numbers(std::initializer_list<named_number> list) {
    for (named_number const& item : list) items[count++] = item;
  }
  constexpr void add(std::string_view name, double value) { items[count++] = {name, value}; }
  constexpr named_number const* begin() const { return items.data(); }
  constexpr named_number const* end() const { return items.data() + count; }
  constexpr std::size_t size() const { return count; }
};

namespace detail {

/// Throws setting_error for the field `field` of `owner` unless `allowed` is true and `value` is finite.
void require_setting(bool allowed, std::string_view owner, std::string_view field, char const* expected,
                     double value);

}  // namespace detail

}  // namespace cohort
