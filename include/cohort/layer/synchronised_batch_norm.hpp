// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/batch_norm.hpp>
#include <cstddef>
#include <vector>

namespace cohort {

/// Batch normalisation with the statistics of the whole batch: over all workers and, if the strategy
/// exchanges gradients, over all ranks.
///
/// Shapes    as batch_norm, with the same parameters.
/// Order     collective: workers and ranks wait for each other once in forward and once in backward.
/// Moves     2·C + 1 f64 for each micro-batch and pass, summed over the workers and then by an allreduce over
///           the ranks. Forward: Σ(x − m) per channel (C values), then Σ(x − m)² per channel, then the count;
///           m is the running mean. Backward: Σ dy per channel (C values), then Σ dy·x̂ per channel, then
///           the count.
///           All backends use this order, so ranks with different backends can train together.
/// Errors    setting_error if several ranks train with a strategy that does not exchange gradients.
/// Exact     up to rounding, results do not depend on the number of parts of a batch. Exception: a rank whose
///           examples all have weight 0 contributes to the statistics, but not to the gradient. Sums are
///           computed in double.
/// Source    SyncBatchNorm of PyTorch; Peng et al., MegDet, CVPR 2018.
struct synchronised_batch_norm {
  static constexpr std::string_view kind_name = "synchronised_batch_norm";
  static constexpr mask_use masks = mask_use::passes;
  static constexpr bool reads_scalars = true;
  static constexpr bool reads_mask = true;

  double momentum = 0.9;
  double epsilon = 1e-5;
  layer_settings settings = {};  ///< `bias` is the initialiser of scale and shift
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() {
    return std::tuple{field{"momentum", &synchronised_batch_norm::momentum},
                      field{"epsilon", &synchronised_batch_norm::epsilon}};
  }
  constexpr inference infer(std::span<shape const> inputs) const { return plain().infer(inputs); }
  constexpr parameter_list parameters(std::span<shape const> inputs) const {
    return plain().parameters(inputs);
  }
  constexpr double flops(std::span<shape const> inputs) const { return plain().flops(inputs); }
  constexpr std::int64_t workspace(std::span<shape const> inputs, int batch) const {
    return plain().workspace(inputs, batch);
  }
  constexpr batch_sum_sizes sums(std::span<shape const> inputs) const {
    int const size = 2 * channels_of(inputs[0]) + 1;
    return {size, size};
  }

  /// As batch_norm.
  channel_map at_inference(std::span<double const> parameters) const {
    return plain().at_inference(parameters);
  }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    if (!a.training) return plain().forward(a);
    auto const channels = static_cast<std::size_t>(channels_of(a.output_shape));
    std::span<double> const sums = zeros(2 * channels + 1);
    sums[2 * channels] = batch_norm::elements_of_channel(a);
    for (std::size_t c = 0; c < channels; ++c)
      batch_norm::each(a, c, [&](std::size_t i) {
        double const x = static_cast<double>(a.inputs[0][i]) - static_cast<double>(a.parameters[2][c]);
        sums[c] += x;
        sums[channels + c] += x * x;
      });
    if (a.scalars->sums) a.scalars->sums->sum(sums);
    double const count = sums[2 * channels];
    for (std::size_t c = 0; c < channels; ++c) {
      if (count == 0) {
        a.workspace[c] = a.parameters[2][c];
        a.workspace[channels + c] = a.parameters[3][c];
        continue;
      }
      double const shift = sums[c] / count, variance = sums[channels + c] / count - shift * shift;
      a.workspace[c] = static_cast<T>(shift + static_cast<double>(a.parameters[2][c]));
      a.workspace[channels + c] = static_cast<T>(std::max(variance, 0.0));
    }
    plain().normalise(a, a.workspace, a.workspace + channels);
  }

  /// The gradients of a rank contain the factor of the rank's own mean (gradient_scale). The sums over ranks
  /// are computed without this factor.
  template <class T>
  void backward(host_arguments<T> const& a) const {
    if (!a.training) return plain().backward(a);
    auto const channels = static_cast<std::size_t>(channels_of(a.output_shape));
    double const unit = a.scalars->gradient_scale;
    std::span<double> const sums = zeros(2 * channels + 1);
    sums[2 * channels] = batch_norm::elements_of_channel(a);
    for (std::size_t c = 0; c < channels; ++c) {
      plain().sum_gradients(a, c, sums[c], sums[channels + c]);
      a.diff_parameters[0][c] = static_cast<T>(sums[channels + c]);
      a.diff_parameters[1][c] = static_cast<T>(sums[c]);
      sums[c] = unit > 0 ? sums[c] / unit : 0;
      sums[channels + c] = unit > 0 ? sums[channels + c] / unit : 0;
    }
    if (a.scalars->sums) a.scalars->sums->sum(sums);
    for (std::size_t c = 0; c < channels && a.diff_inputs[0]; ++c)
      plain().differentiate(a, c, sums[2 * channels], unit * sums[c], unit * sums[channels + c]);
    batch_norm::write_statistics_gradients(*a.scalars, a.batch, channels_of(a.output_shape), a.workspace,
                                           a.workspace + channels, a.parameters[2], a.diff_parameters[2],
                                           a.diff_parameters[3]);
  }

 private:
  constexpr batch_norm plain() const { return {.momentum = momentum, .epsilon = epsilon}; }
  /// Returns `count` zeros in memory of the calling thread. The next call reuses this memory.
  static std::span<double> zeros(std::size_t count) {
    thread_local std::vector<double> memory;
    memory.assign(count, 0.0);
    return memory;
  }
};

}  // namespace cohort
