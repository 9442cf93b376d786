// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/host_call.hpp>
#include <cohort/backend/tensor_backend.hpp>
#include <cstring>

namespace cohort {

/// Reference backend: plain loops over dense tensors, in float or double. It is slow; tests compare every
/// other backend with it.
///
/// Exact     additions have a fixed order, so results are bitwise equal on all machines for which the
///           compiler fuses the same multiplications and additions (FMA).
template <class T>
class reference {
 public:
  using scalar = T;
  /// Tensors are dense row-major: the extents define the layout.
  using layout = shape;
  using kernel = host_function;
  using call = host_call;

  static constexpr std::string_view name =
      sizeof(T) == sizeof(double) ? "reference<double>" : "reference<float>";
  static availability probe() { return {}; }
  static int threads(int) { return 1; }

  static bool supports(kind const& k);
  bool fuses(kind const&, kind const&, bool) const { return false; }
  layout plain(shape const& s) const { return s; }
  std::size_t bytes(layout const& l) const { return static_cast<std::size_t>(l.elements()) * sizeof(T); }
  element_type element(layout const&) const { return element_of<T>; }
  std::string describe(layout const&) const { return "dense"; }

  kernel reorder(layout const& from, layout const&) const {
    return [bytes = bytes(from)](std::span<void* const> a) { std::memcpy(a[1], a[0], bytes); };
  }
  kernel accumulate(layout const& l) const {
    return [count = l.elements()](std::span<void* const> a) {
      for (std::int64_t i = 0; i < count; ++i) static_cast<T*>(a[1])[i] += static_cast<T const*>(a[0])[i];
    };
  }
  static call bind(kernel const& k, std::span<void* const> addresses) { return {k, addresses}; }

  basic_operation<kernel, layout> prepare(basic_request<layout> const& request) const;
};

static_assert(tensor_backend<reference<float>> && tensor_backend<reference<double>>);

}  // namespace cohort

template <class T>
inline constexpr bool cohort::detail::has_compiled_plans<cohort::reference<T>> = true;
