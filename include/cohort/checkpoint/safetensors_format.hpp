// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <bit>
#include <cohort/tensor/element.hpp>
#include <cohort/tensor/view.hpp>
#include <cstddef>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace cohort {

/// A tensor of a safetensors or .npz file: its name and a view of its elements.
struct stored_tensor {
  std::string name;
  tensor_view view;
  std::string
      unread_type{};  ///< the file's name of a type that is not read, such as BOOL; `view` is empty then
};

/// Metadata strings of a safetensors file. The map is sorted, so equal metadata gives equal bytes.
using safetensors_metadata = std::map<std::string, std::string>;

/// Largest header in bytes; the limit of the reference implementation.
inline constexpr std::size_t safetensors_header_limit = 100'000'000;

/// Limits on the header of an untrusted file.
struct safetensors_limits {
  std::size_t max_header_bytes = safetensors_header_limit;
  std::size_t max_header_values = 4'000'000;  // number of JSON values; a tensor has about nine
};

namespace detail {

/// Returns the elements of a listed tensor; they are valid until the next call.
using tensor_reader = std::function<tensor_view(stored_tensor const&)>;

static_assert(std::endian::native == std::endian::little, "cohort: safetensors files are little-endian");

inline constexpr std::size_t safetensors_alignment = 64;

inline constexpr std::array<std::pair<std::string_view, element_type>, 7> safetensors_types{{
    {"F32", element_type::f32},
    {"F64", element_type::f64},
    {"BF16", element_type::bf16},
    {"U8", element_type::u8},
    {"I32", element_type::i32},
    {"I64", element_type::i64},
    {"U64", element_type::u64},
}};

/// Files may have elements of this type; they are converted to f32.
inline constexpr std::string_view safetensors_f16 = "F16";

constexpr std::string_view safetensors_name(element_type type) {
  for (auto const& [name, known] : safetensors_types) {
    if (known == type) return name;
  }
  return "?";
}

}  // namespace detail
}  // namespace cohort
