// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/error/exceptions.hpp>
#include <cohort/random/hash.hpp>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

/// The tensors whose elements a message is about, one behind the other in a flat view. What must not be changed on its way
/// (running statistics) is not in it.
///
/// Units     elements; their total may pass 2³¹.
/// Errors    setting_error for a tensor without elements, and for more than 2⁴⁴ of them (2 bits each fill a message).
class tensor_table {
 public:
  struct tensor {
    std::string_view name;
    std::uint64_t elements = 0;
  };

  tensor_table() = default;
  tensor_table(std::initializer_list<tensor> tensors)
      : tensor_table(std::span<tensor const>(tensors.begin(), tensors.size())) {}
  explicit tensor_table(std::span<tensor const> tensors) {
    constexpr std::uint64_t most = std::uint64_t{1} << 44;
    for (tensor const& one : tensors) {
      if (one.elements == 0 || one.elements > most - elements())
        throw setting_error({.what = "a table of tensors makes no sense",
                             .where = {one.name},
                             .expected = {"1 to ", most - elements(), " elements"},
                             .got = {one.elements}});
      ends_.push_back(elements() + one.elements);
      names_.emplace_back(one.name);
      hash_ = fnv1a(std::string_view(reinterpret_cast<char const*>(&one.elements), sizeof one.elements),
                    fnv1a(std::string_view("\0", 1), fnv1a(one.name, hash_)));
    }
  }

  std::size_t size() const { return ends_.size(); }
  std::uint64_t elements() const { return ends_.empty() ? 0 : ends_.back(); }
  std::string_view name(std::size_t tensor) const { return names_[tensor]; }
  /// Where each tensor ends in the flat view, as the next one begins there.
  std::span<std::uint64_t const> ends() const { return ends_; }
  /// Of names, sizes and order: two ranks whose tables differ cannot read each other.
  std::uint64_t hash() const { return hash_; }

 private:
  std::vector<std::uint64_t> ends_;
  std::vector<std::string> names_;
  std::uint64_t hash_ = fnv1a_offset;
};

}  // namespace cohort
