// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/description.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace cohort::detail {

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

}  // namespace cohort::detail
