// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "../../backend/ladder.hpp"

/// The rungs of the conformance ladder whose layers cudnn has kernels for, on a real or simulated GPU.
namespace cudnn_ladder {

using namespace cohort;

/// A factor rounded to TF32 has a relative error of up to 2⁻¹¹, an eighth of bf16's. But if a rectifier or a
/// pool decides differently, a whole summand moves from one element of a gradient to another. Rounding on the
/// processor uses up to 0.3 and 0.2 of this tolerance.
inline constexpr ladder::tolerance in_tf32{.output = {0.025, 0.0125}, .gradient = {0.4, 0.3}};

/// The tolerance of the processor's bf16 backend (tests/backends/onednn/bf16_test.cpp).
inline constexpr ladder::tolerance in_bf16{.output = {0.1, 0.05}, .gradient = {0.8, 0.6}};

/// All rungs share one stream and one set of kernels: creating them takes longer than a rung. They are never
/// destroyed, because cuDNN's handles cannot be destroyed after main.
template <class B>
struct shared : B {
  shared() : B(one()) {}
  static B const& one() {
    static B const& made = *new B;
    return made;
  }
};

template <class B>
bool has_kernels_for(operations::row const& r) {
  graph const whole = operations::network_of(r, 1, true);
  graph_view const net = whole;
  for (int id = 0; id < net.size(); ++id) {
    if (net.kind(id).role == layer_role::input) continue;
    if (!B::supports(net.kind(id), net.input_shapes(id), net[id].output)) return false;
  }
  return true;
}

template <class B>
std::vector<std::string> rows_without_kernels() {
  std::vector<std::string> found;
  operations::each_row([&](operations::row const& r) {
    if (!has_kernels_for<B>(r)) found.emplace_back(r.name);
  });
  return found;
}

template <class B, class Rung = ladder::rung<shared<B>>>
bool register_rungs(char const* suite, ladder::tolerance allowed = ladder::in_f32) {
  operations::each_row([&](operations::row const& r) {
    if (has_kernels_for<B>(r))
      testing::RegisterTest(suite, r.name, nullptr, nullptr, __FILE__, __LINE__,
                            [&r, allowed]() -> testing::Test* { return new Rung(r, allowed); });
  });
  return true;
}

}  // namespace cudnn_ladder
