// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/description.hpp>
#include <cohort/error/exceptions.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace cohort::detail {

/// Returns the label.  Errors: data_error that names the example if the label is out of range.
inline std::int64_t label_in_range(tensor_description const& part, std::int64_t label, std::int64_t example) {
  if (label >= 0 && label < part.classes) return label;
  throw data_error({.what = "a class label is out of range",
                    .where = {part.name, ", example ", example},
                    .expected = {"0 to ", part.classes - 1},
                    .got = {label}});
}

/// Returns the class label stored at `at`, as u8, i32 or i64.
inline std::int64_t class_label(tensor_description const& part, std::byte const* at) {
  auto const read = [at]<class E>(E label) {
    std::memcpy(&label, at, sizeof label);
    return static_cast<std::int64_t>(label);
  };
  switch (part.stored) {
    case element_type::u8:
      return read(std::uint8_t{});
    case element_type::i64:
      return read(std::int64_t{});
    default:
      return read(std::int32_t{});
  }
}

/// Returns the class label stored at `at`.  Errors: as label_in_range.
inline std::int64_t checked_class_label(tensor_description const& part, std::byte const* at,
                                        std::int64_t example) {
  return label_in_range(part, class_label(part, at), example);
}

}  // namespace cohort::detail
