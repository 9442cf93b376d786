// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cmath>
#include <cohort/layer/kind.hpp>

namespace cohort {

/// Local response normalisation: y = x / (k + α·Σx²)^β, with the sum over the n channels centred at the
/// channel of x, without channels that do not exist.
///
/// Shapes    input C×H×W (or C×L, C) → output of the same shape.
/// Units     α is not divided by n, as in Deeplearning4j. For the same result, PyTorch, Caffe and oneDNN need
///           n·α.
/// Source    Krizhevsky, Sutskever and Hinton, NIPS 2012.
struct lrn {
  static constexpr std::string_view kind_name = "lrn";

  double k = 2;
  int n = 5;
  double alpha = 1e-4;
  double beta = 0.75;
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() {
    return field_list{field{"k", &lrn::k}, field{"n", &lrn::n}, field{"alpha", &lrn::alpha},
                      field{"beta", &lrn::beta}};
  }
  constexpr inference infer(std::span<shape const> inputs) const {
    if (n < 1 || n % 2 == 0)
      return {"local response normalisation needs an odd number of channels", labelled_number("n", n)};
    if (!(k > 0)) return {"the k of local response normalisation must be above 0"};
    if (!(alpha >= 0 && beta >= 0))
      return {"alpha and beta of local response normalisation must not be negative"};
    return inputs[0];
  }
  constexpr double flops(std::span<shape const> inputs) const {
    return (2.0 * n + 3) * static_cast<double>(inputs[0].elements());
  }
  /// Workspace: the bases k + α·Σx².
  constexpr std::int64_t workspace(std::span<shape const> inputs, int batch) const {
    return inputs[0].elements() * batch;
  }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    each_row(a, [&](std::size_t row, std::size_t first, std::size_t last, std::size_t area) {
      T* const y = a.output + row;
      std::fill_n(y, area, static_cast<T>(k));
      for (std::size_t near = first; near < last; near += area)
        for (std::size_t i = 0; i < area; ++i)
          y[i] += static_cast<T>(alpha) * a.inputs[0][near + i] * a.inputs[0][near + i];
      if (a.workspace) std::copy_n(y, area, a.workspace + row);
      for (std::size_t i = 0; i < area; ++i)
        y[i] = a.inputs[0][row + i] * std::pow(y[i], static_cast<T>(-beta));
    });
  }
  /// ∂L/∂x = g·base^−β − 2αβ·x·Σ g·y/base, with the sum over the channels whose base depends on x.
  template <class T>
  void backward(host_arguments<T> const& a) const {
    if (!a.diff_inputs[0]) return;
    T const factor = static_cast<T>(-2 * alpha * beta);
    each_row(a, [&](std::size_t row, std::size_t first, std::size_t last, std::size_t area) {
      T* const diff = a.diff_inputs[0] + row;
      std::fill_n(diff, area, T(0));
      for (std::size_t near = first; near < last; near += area)
        for (std::size_t i = near; i < near + area; ++i)
          diff[i - near] += a.diff_output[i] * a.output[i] / a.workspace[i];
      for (std::size_t i = 0; i < area; ++i)
        diff[i] = a.diff_output[row + i] * std::pow(a.workspace[row + i], static_cast<T>(-beta))
                  + factor * a.inputs[0][row + i] * diff[i];
    });
  }

 private:
  /// Calls visit(offset of a channel, offset of its first neighbour, end offset of its last neighbour,
  /// elements per channel) for each channel of each example.
  template <class T, class Visit>
  void each_row(host_arguments<T> const& a, Visit visit) const {
    int const channels = a.output_shape[0], reach = n / 2;
    auto const area = static_cast<std::size_t>(a.output_shape.elements() / channels);
    for (int example = 0; example < a.batch; ++example)
      for (int c = 0; c < channels; ++c) {
        auto const row = [&](int channel) { return std::size_t(example * channels + channel) * area; };
        visit(row(c), row(std::max(c - reach, 0)), row(std::min(c + reach + 1, channels)), area);
      }
  }
};

extern template struct detail::host_kernels<lrn>;

}  // namespace cohort
