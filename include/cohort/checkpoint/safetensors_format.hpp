// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <bit>
#include <cohort/tensor/element.hpp>
#include <cohort/tensor/view.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <new>
#include <string>
#include <string_view>
#include <utility>

namespace cohort {

/// A tensor of a safetensors file: its name there, and where its elements are.
struct stored_tensor {
  std::string name;
  tensor_view view;
};

/// The strings that a safetensors file carries beside its tensors; sorted, so equal metadata are equal bytes.
using safetensors_metadata = std::map<std::string, std::string>;

inline constexpr std::size_t safetensors_header_limit = 100'000'000;  // bytes, of the reference

/// What a hostile file may cost before it is refused.
struct safetensors_limits {
  std::size_t max_header_bytes = safetensors_header_limit;
  std::size_t max_header_values = 4'000'000;  // JSON values: about nine a tensor
};

namespace detail {

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

constexpr std::string_view safetensors_name(element_type type) {
  for (auto const& [name, known] : safetensors_types) {
    if (known == type) return name;
  }
  return "?";
}

/// Bytes aligned for any vector instruction, not initialised, that can grow.
class aligned_bytes {
 public:
  aligned_bytes() = default;
  explicit aligned_bytes(std::size_t bytes) : data_(allocate(bytes)), size_(bytes) {}
  aligned_bytes(aligned_bytes&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  aligned_bytes& operator=(aligned_bytes&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~aligned_bytes() { ::operator delete (data_, std::align_val_t{safetensors_alignment}); }

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }

  /// Before: bytes ≥ size().
  void grow(std::size_t bytes) {
    aligned_bytes larger(bytes);
    if (size_ > 0) std::memcpy(larger.data_, data_, size_);
    std::swap(data_, larger.data_);
    std::swap(size_, larger.size_);
  }

 private:
  static std::byte* allocate(std::size_t bytes) {
    return static_cast<std::byte*>(::operator new (bytes, std::align_val_t{safetensors_alignment}));
  }

  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace detail
}  // namespace cohort
