// SPDX-License-Identifier: Apache-2.0
#include <cohort/codec/tensor_table.hpp>
#include <cohort/error/exceptions.hpp>

namespace cohort {

tensor_table::tensor_table(std::initializer_list<tensor> tensors)
    : tensor_table(std::span<tensor const>(tensors.begin(), tensors.size())) {}

tensor_table::tensor_table(std::span<tensor const> tensors) {
  constexpr std::uint64_t most = std::uint64_t{1} << 44;
  for (tensor const& one : tensors) {
    if (one.elements == 0 || one.elements > most - elements())
      throw setting_error({.what = "a tensor has an invalid size for a tensor table",
                           .where = {one.name},
                           .expected = {"1 to ", most - elements(), " elements"},
                           .got = {one.elements, " elements"}});
    ends_.push_back(elements() + one.elements);
    names_.emplace_back(one.name);
    hash_ = detail::fnv1a(std::string_view(reinterpret_cast<char const*>(&one.elements), sizeof one.elements),
                          detail::fnv1a(std::string_view("\0", 1), detail::fnv1a(one.name, hash_)));
  }
}

}  // namespace cohort
