// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cohort/detail/hash.hpp>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

/// The tensors whose elements a message contains, concatenated into a flat view. Values that must not be
/// compressed (running statistics) are not part of the flat view.
///
/// Units     elements; their total may exceed 2³¹.
/// Errors    setting_error for a tensor without elements, and for more than 2⁴⁴ elements in total (a message
///           cannot hold more at 2 bits per element).
class tensor_table {
 public:
  struct tensor {
    std::string_view name;
    std::uint64_t elements = 0;
  };

  tensor_table() = default;
  tensor_table(std::initializer_list<tensor> tensors);
  explicit tensor_table(std::span<tensor const> tensors);

  std::size_t size() const { return ends_.size(); }
  std::uint64_t elements() const { return ends_.empty() ? 0 : ends_.back(); }
  std::string_view name(std::size_t tensor) const { return names_[tensor]; }
  /// For each tensor, the index after its last element in the flat view; the next tensor begins there.
  std::span<std::uint64_t const> ends() const { return ends_; }
  /// Hash of names, sizes and order. A rank rejects messages whose table has another hash.
  std::uint64_t hash() const { return hash_; }

 private:
  std::vector<std::uint64_t> ends_;
  std::vector<std::string> names_;
  std::uint64_t hash_ = detail::fnv1a_offset;
};

}  // namespace cohort
