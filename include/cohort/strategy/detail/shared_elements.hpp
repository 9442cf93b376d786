// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/codec/tensor_table.hpp>
#include <cohort/plan/parameter_set.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cohort::detail {

/// The elements of a network that messages are about, as f32, one behind the other: what is trained. Running statistics and
/// frozen layers are not among them.
///
/// Shapes    parameter p's are [first, first + its elements) of table().elements().
class shared_elements {
 public:
  explicit shared_elements(parameter_set const& parameters) {
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

  tensor_table const& table() const { return table_; }
  /// Whether shared elements that are read and written lie beside the arenas, on their device; at first they do not.
  void set_beside(bool beside) { beside_ = beside; }

  /// Parameters [begin, end) of an arena → their places.
  void read(parameter_set const& parameters, int begin, int end, std::byte const* arena,
            std::span<float> shared) {
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

  void read(parameter_set const& parameters, std::byte const* arena, std::span<float> shared) {
    read(parameters, 0, static_cast<int>(places_.size()), arena, shared);
  }

  /// All of them back.
  void write(parameter_set const& parameters, std::span<float const> shared, std::byte* arena) {
    each(0, static_cast<int>(places_.size()), [&](int p, place const& its) {
      std::span<float const> const from = shared.subspan(its.first, its.count);
      if (beside_) return parameters.write_beside(p, reinterpret_cast<std::byte const*>(from.data()), arena);
      if (parameters.type() == element_type::f32)
        return parameters.write(p, reinterpret_cast<std::byte const*>(from.data()), arena);
      wide_.assign(from.begin(), from.end());
      parameters.write(p, reinterpret_cast<std::byte const*>(wide_.data()), arena);
    });
  }

  /// x = before − after of two arrays in the canonical flat view.
  template <class T>
  void subtract(T const* before, T const* after, std::span<float> x) const {
    each(0, static_cast<int>(places_.size()), [&](int, place const& its) {
      for (std::size_t i = 0; i < its.count; ++i)
        x[its.first + i] = static_cast<float>(before[its.in_dense + i] - after[its.in_dense + i]);
    });
  }
  /// w −= factor·x in the canonical flat view.
  template <class T>
  void take(T* w, std::span<float const> x, double factor) const {
    each(0, static_cast<int>(places_.size()), [&](int, place const& its) { take(its, w, x, factor); });
  }
  /// The parameters of an arena = before − factor·x; those that are not shared stay.
  template <class T>
  void apply(parameter_set const& parameters, T* before, std::span<float const> x, double factor,
             std::byte* arena) const {
    each(0, static_cast<int>(places_.size()), [&](int p, place const& its) {
      take(its, before, x, factor);
      parameters.write(p, reinterpret_cast<std::byte const*>(before + its.in_dense), arena);
    });
  }

 private:
  struct place {
    bool is_shared;
    std::uint64_t first;
    std::size_t count;
    std::size_t in_dense;  // where it begins in the canonical flat view
  };

  template <class T>
  static void take(place const& its, T* w, std::span<float const> x, double factor) {
    for (std::size_t i = 0; i < its.count; ++i)
      w[its.in_dense + i] -= static_cast<T>(factor) * static_cast<T>(x[its.first + i]);
  }

  template <class F>
  void each(int begin, int end, F f) const {
    for (int p = begin; p < end; ++p)
      if (place const& its = places_[static_cast<std::size_t>(p)]; its.is_shared) f(p, its);
  }

  std::vector<place> places_;
  tensor_table table_;
  std::vector<double> wide_;
  bool beside_ = false;
};

}  // namespace cohort::detail
