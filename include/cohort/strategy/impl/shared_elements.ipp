// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/detail/config.hpp>
#include <cohort/strategy/detail/shared_elements.hpp>

namespace cohort::detail {

COHORT_CORE_INLINE shared_elements::shared_elements(parameter_set const& parameters) {
  std::vector<tensor_table::tensor> tensors;
  std::uint64_t first = 0;
  for (parameter const& p : parameters.table()) {
    places_.push_back({p.trains(), first, static_cast<std::size_t>(p.spec.dims.elements()),
                       static_cast<std::size_t>(p.first)});
    if (!p.trains()) continue;
    tensors.push_back({p.name, places_.back().count});
    first += places_.back().count;
  }
  table_ = tensor_table(tensors);
}

COHORT_CORE_INLINE void shared_elements::read(parameter_set const& parameters, int begin, int end,
                                              std::byte const* arena, std::span<float> shared) {
  each(begin, end, [&](int p, place const& its) {
    std::span<float> const to = shared.subspan(its.first, its.count);
    if (beside_) return parameters.read_beside(p, arena, reinterpret_cast<std::byte*>(to.data()));
    if (parameters.type() == element_type::f32)
      return parameters.read(p, arena, reinterpret_cast<std::byte*>(to.data()));
    wide_.resize(its.count);
    parameters.read(p, arena, reinterpret_cast<std::byte*>(wide_.data()));
    std::transform(wide_.begin(), wide_.end(), to.begin(), [](double x) { return static_cast<float>(x); });
  });
}

COHORT_CORE_INLINE void shared_elements::read(parameter_set const& parameters, std::byte const* arena,
                                              std::span<float> shared) {
  read(parameters, 0, static_cast<int>(places_.size()), arena, shared);
}

COHORT_CORE_INLINE void shared_elements::write(parameter_set const& parameters, std::span<float const> shared,
                                               std::byte* arena) {
  each(0, static_cast<int>(places_.size()), [&](int p, place const& its) {
    std::span<float const> const from = shared.subspan(its.first, its.count);
    if (beside_) return parameters.write_beside(p, reinterpret_cast<std::byte const*>(from.data()), arena);
    if (parameters.type() == element_type::f32)
      return parameters.write(p, reinterpret_cast<std::byte const*>(from.data()), arena);
    wide_.assign(from.begin(), from.end());
    parameters.write(p, reinterpret_cast<std::byte const*>(wide_.data()), arena);
  });
}

}  // namespace cohort::detail
