// SPDX-License-Identifier: Apache-2.0
#pragma once
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
  explicit shared_elements(parameter_set const& parameters);

  tensor_table const& table() const { return table_; }
  /// Whether shared elements that are read and written lie beside the arenas, on their device; at first they do not.
  void set_beside(bool beside) { beside_ = beside; }

  /// Parameters [begin, end) of an arena → their places.
  void read(parameter_set const& parameters, int begin, int end, std::byte const* arena,
            std::span<float> shared);

  void read(parameter_set const& parameters, std::byte const* arena, std::span<float> shared);

  /// All of them back.
  void write(parameter_set const& parameters, std::span<float const> shared, std::byte* arena);

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

#ifndef COHORT_CORE_COMPILED
#include <cohort/strategy/impl/shared_elements.ipp>
#endif
