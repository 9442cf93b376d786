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
/// Order     collective: workers and ranks wait for each other twice in forward and once in backward.
/// Moves     2·C + 1 f64 in forward and again in backward for each micro-batch, summed over the workers and
///           then by an allreduce over the ranks. Forward: Σx per channel (C values) and the count, whose
///           quotient is the mean b; then Σ(x − b)² per channel. Backward: Σ dy per channel (C values), then
///           Σ dy·x̂ per channel, then the count. All backends use this order, so ranks with different
///           backends can train together.
/// Errors    setting_error if several ranks train with a strategy that does not exchange gradients.
/// Exact     up to rounding, results do not depend on the number of parts of a batch. Exception: a rank whose
///           examples all have weight 0 contributes to the statistics, but not to the gradient. Sums are
///           computed in double; for `cudnn` see its README.
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
    return field_list{field{"momentum", &synchronised_batch_norm::momentum},
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
    int const channels = channels_of(inputs[0]);
    return {.forward = channels + 1, .backward = 2 * channels + 1, .second_forward = channels};
  }

  /// As batch_norm.
  channel_map at_inference(std::span<double const> parameters) const {
    return plain().at_inference(parameters);
  }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    if (!a.training) return plain().forward(a);
    auto const channels = static_cast<std::size_t>(channels_of(a.output_shape));
    std::span<double> const memory = zeros(2 * channels + 1);
    std::span<double> const sums = memory.first(channels + 1), squares = memory.last(channels);
    sums[channels] = batch_norm::elements_of_channel(a);
    for (std::size_t c = 0; c < channels; ++c)
      batch_norm::each(a, c, [&](std::size_t i) { sums[c] += static_cast<double>(a.inputs[0][i]); });
    if (a.scalars->sums) a.scalars->sums->sum(sums);
    double const count = sums[channels];
    for (std::size_t c = 0; c < channels && count > 0; ++c) {
      double const mean = sums[c] / count;
      batch_norm::each(a, c, [&](std::size_t i) {
        double const centred = static_cast<double>(a.inputs[0][i]) - mean;
        squares[c] += centred * centred;
      });
    }
    if (a.scalars->sums) a.scalars->sums->sum(squares);
    // Without unmasked steps, the running statistics do not change.
    for (std::size_t c = 0; c < channels; ++c) {
      a.workspace[c] = count > 0 ? static_cast<T>(sums[c] / count) : a.parameters[2][c];
      a.workspace[channels + c] = count > 0 ? static_cast<T>(squares[c] / count) : a.parameters[3][c];
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
    batch_norm::write_statistics(a);
  }

 private:
  constexpr batch_norm plain() const { return {.momentum = momentum, .epsilon = epsilon}; }
  /// Returns `count` zeros in memory of the calling thread. The next call reuses this memory.
  static std::span<double> zeros(std::size_t count) {
    thread_local std::vector<double> memory;
    memory.assign(count, 0.0);
    return {memory.data(), count};
  }
};

extern template struct detail::host_kernels<synchronised_batch_norm>;

}  // namespace cohort
