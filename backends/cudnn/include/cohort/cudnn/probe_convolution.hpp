// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <cohort/backend/availability.hpp>
#include <cohort/cudnn/convolution_engine.hpp>
#include <memory>
#include <utility>

namespace cohort::detail {

/// Runs a convolution whose result is known, also in TF32: whether the GPU computes by cuDNN.
inline availability probe_convolution(std::shared_ptr<compute_stream> const& on, product_precision products) {
  auto const dnn = std::make_shared<dnn_on_gpu>(on);
  constexpr int side = 4, kernel = 3, made = side - kernel + 1;
  convolution_engine const engine(dnn, convolution_pass::output,
                                  {.input = {1, 1, side, side},
                                   .weights = {1, 1, kernel, kernel},
                                   .output = {1, 1, made, made},
                                   .stride = 1,
                                   .dilation = 1,
                                   .rows = {},
                                   .columns = {}},
                                  products);
  if (!engine.found()) engine.refuse("a 3x3 kernel on 4x4 elements");
  float image[side * side], weights[kernel * kernel], got[made * made], wanted[made * made] = {};
  for (int i = 0; i < side * side; ++i) image[i] = static_cast<float>(i % 5 - 2);
  for (int i = 0; i < kernel * kernel; ++i) weights[i] = static_cast<float>(i % 4 - 1);
  for (int o = 0; o < made * made; ++o)
    for (int t = 0; t < kernel * kernel; ++t)
      wanted[o] += weights[t] * image[(o / made + t / kernel) * side + o % made + t % kernel];
  auto const space = std::static_pointer_cast<memory_space>(on);
  buffer const x(sizeof image, space), w(sizeof weights, space), y(sizeof got, space),
      workspace(engine.workspace_bytes(), space);
  on->bring(image, x.data(), sizeof image);
  on->bring(weights, w.data(), sizeof weights);
  engine.run(x.data(), w.data(), y.data(), workspace.data());
  on->fetch(y.data(), got, sizeof got);
  for (int o = 0; o < made * made; ++o)
    if (!(std::abs(got[o] - wanted[o]) < 1e-3F))  // an engine may go by other sums, as Winograd's
      return {false, "a convolution gives wrong numbers on " + on->device().name()};
  return {true, "", on->device().name()};
}

}  // namespace cohort::detail
