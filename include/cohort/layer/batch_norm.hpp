// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cmath>
#include <cohort/layer/kind.hpp>

namespace cohort {

/// Batch normalisation: y = scale·(x − mean)/√(variance + ε) + shift, with mean and variance per channel over
/// examples and positions. Training uses the statistics of the batch. Inference and frozen layers use the
/// running statistics.
///
/// Shapes    input C×H×W, T×C or C (one channel per unit) → output of the same shape; scale, shift,
///           running_mean, running_variance C.
/// Units     `momentum`: the weight of the old running statistics in an update. Normalisation and running
///           variance use the biased variance (÷ N). PyTorch's running variance uses the unbiased variance,
///           which is N/(N − 1) times as large.
/// Order     each worker normalises by the statistics of its own part or micro-batch;
///           `synchronised_batch_norm` uses the statistics of the whole batch. The running statistics are
///           updated from the whole batch of the rank (see `batch_statistics`). Example weights affect the
///           running statistics, not the normalisation.
/// Exact     a batch of one example with one position is valid: the output is `shift`, and the input gradient
///           is 0. With a mask, the statistics cover the unmasked steps only. The statistics of a part are
///           rounded to the backend's element type. Before that, `reference` sums in double; for the other
///           backends see their READMEs. Running statistics are merged in double, and variances are never
///           negative.
/// Source    Ioffe and Szegedy, ICML 2015.
struct batch_norm {
  static constexpr std::string_view kind_name = "batch_norm";
  static constexpr mask_use masks = mask_use::passes;
  static constexpr bool reads_scalars = true;
  static constexpr bool reads_mask = true;

  double momentum = 0.9;
  double epsilon = 1e-5;
  layer_settings settings = {};  ///< `bias` is the initialiser of scale and shift
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() {
    return field_list{field{"momentum", &batch_norm::momentum}, field{"epsilon", &batch_norm::epsilon}};
  }
  constexpr inference infer(std::span<shape const> inputs) const {
    if (inputs[0].rank == 0)
      return {"batch normalisation needs an input with channels", {"input", inputs[0]}};
    if (!(momentum >= 0 && momentum <= 1)) return {"the momentum of batch normalisation must be in [0, 1]"};
    if (!(epsilon > 0)) return {"the epsilon of batch normalisation must be above 0"};
    return inputs[0];
  }
  constexpr parameter_list parameters(std::span<shape const> inputs) const {
    shape const each{channels_of(inputs[0])};
    parameter_list list;
    list.add({"scale", each, parameter_role::biases, 1, 1, init::ones{}});
    list.add({"shift", each, parameter_role::biases, 1, 1, init::zeros{}});
    list.add({"running_mean", each, parameter_role::running_mean, 1, 1, init::zeros{}, momentum});
    list.add({"running_variance", each, parameter_role::running_variance, 1, 1, init::ones{}, momentum});
    return list;
  }
  constexpr double flops(std::span<shape const> inputs) const {
    return 7.0 * static_cast<double>(inputs[0].elements());
  }
  /// Workspace: the means of the batch (C), then its variances (C).
  constexpr std::int64_t workspace(std::span<shape const> inputs, int) const {
    return 2 * channels_of(inputs[0]);
  }

  /// The forward pass of one channel at inference. `parameters`: scale, shift, running mean, running
  /// variance.
  channel_map at_inference(std::span<double const> parameters) const {
    double const factor = parameters[0] * inverse_deviation(parameters[3]);
    return {factor, parameters[1] - parameters[2] * factor};
  }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    auto const channels = static_cast<std::size_t>(channels_of(a.output_shape));
    if (!a.training) return normalise(a, a.parameters[2], a.parameters[3]);
    double const count = elements_of_channel(a);
    for (std::size_t c = 0; c < channels; ++c) {
      if (count == 0) {  // without unmasked steps, the running statistics do not change
        a.workspace[c] = a.parameters[2][c];
        a.workspace[channels + c] = a.parameters[3][c];
        continue;
      }
      double sum = 0, squares = 0;
      each(a, c, [&](std::size_t i) { sum += static_cast<double>(a.inputs[0][i]); });
      double const mean = sum / count;
      each(a, c, [&](std::size_t i) {
        double const centred = static_cast<double>(a.inputs[0][i]) - mean;
        squares += centred * centred;
      });
      a.workspace[c] = static_cast<T>(mean);
      a.workspace[channels + c] = static_cast<T>(squares / count);
    }
    normalise(a, a.workspace, a.workspace + channels);
  }

  template <class T>
  void backward(host_arguments<T> const& a) const {
    auto const channels = static_cast<std::size_t>(channels_of(a.output_shape));
    if (!a.training) {  // frozen: a constant scale and shift per channel
      for (std::size_t c = 0; c < channels; ++c) {
        T const factor = a.parameters[0][c] * inverse_deviation(a.parameters[3][c]);
        each_with_padding(a, c, [&](std::size_t i) { a.diff_inputs[0][i] = factor * a.diff_output[i]; });
      }
      return;
    }
    for (std::size_t c = 0; c < channels; ++c) {
      double sum = 0, dot = 0;
      sum_gradients(a, c, sum, dot);
      a.diff_parameters[0][c] = static_cast<T>(dot);
      a.diff_parameters[1][c] = static_cast<T>(sum);
      if (a.diff_inputs[0]) differentiate(a, c, elements_of_channel(a), sum, dot);
    }
    write_statistics(a);
  }

 private:
  friend struct synchronised_batch_norm;

  /// Writes the statistics of forward to the diff_parameters of the running statistics (see host_arguments).
  template <class T>
  static void write_statistics(host_arguments<T> const& a) {
    auto const channels = static_cast<std::size_t>(channels_of(a.output_shape));
    std::copy_n(a.workspace, channels, a.diff_parameters[2]);
    std::copy_n(a.workspace + channels, channels, a.diff_parameters[3]);
  }
  template <class T>
  void normalise(host_arguments<T> const& a, T const* means, T const* variances) const {
    for (std::size_t c = 0; c < static_cast<std::size_t>(channels_of(a.output_shape)); ++c) {
      T const mean = means[c], factor = a.parameters[0][c] * inverse_deviation(variances[c]);
      T const shift = a.parameters[1][c];
      each_with_padding(a, c, [&](std::size_t i) { a.output[i] = (a.inputs[0][i] - mean) * factor + shift; });
    }
  }
  /// Adds Σ dy to `sum` and Σ dy·x̂ to `dot`, over one channel; x̂ is the normalised input.
  template <class T>
  void sum_gradients(host_arguments<T> const& a, std::size_t c, double& sum, double& dot) const {
    auto const channels = static_cast<std::size_t>(channels_of(a.output_shape));
    T const mean = a.workspace[c], inverse = inverse_deviation(a.workspace[channels + c]);
    each(a, c, [&](std::size_t i) {
      double const g = static_cast<double>(a.diff_output[i]);
      sum += g;
      dot += g * static_cast<double>((a.inputs[0][i] - mean) * inverse);
    });
  }
  /// Writes the input gradient of one channel, from the sums of sum_gradients over `count` elements.
  template <class T>
  void differentiate(host_arguments<T> const& a, std::size_t c, double count, double sum, double dot) const {
    auto const channels = static_cast<std::size_t>(channels_of(a.output_shape));
    T const mean = a.workspace[c], inverse = inverse_deviation(a.workspace[channels + c]);
    if (a.mask) each_with_padding(a, c, [&](std::size_t i) { a.diff_inputs[0][i] = 0; });
    T const of_mean = static_cast<T>(sum / count), slope = static_cast<T>(dot / count) * inverse;
    T const factor = a.parameters[0][c] * inverse;
    each(a, c, [&](std::size_t i) {
      a.diff_inputs[0][i] = factor * (a.diff_output[i] - of_mean - (a.inputs[0][i] - mean) * slope);
    });
  }
  template <class T>
  T inverse_deviation(T variance) const {
    return 1 / std::sqrt(variance + static_cast<T>(epsilon));
  }
  /// Number of elements of a channel, without padding.
  template <class T>
  static double elements_of_channel(host_arguments<T> const& a) {
    if (!a.mask) return static_cast<double>(a.elements_of_output()) / channels_of(a.output_shape);
    double count = 0;
    for (int n = 0; n < a.batch; ++n) count += a.mask->counts[n];
    return count;
  }
  /// Calls visit(i) for the elements of a channel, without padding.
  template <class T, class Visit>
  static void each(host_arguments<T> const& a, std::size_t c, Visit visit) {
    if (!a.mask) return each_with_padding(a, c, visit);
    auto const channels = static_cast<std::size_t>(channels_of(a.output_shape));
    for (std::size_t i = c, step = 0; i < a.elements_of_output(); i += channels, ++step)
      if (a.mask->steps[step] != 0) visit(i);
  }
  template <class T, class Visit>
  static void each_with_padding(host_arguments<T> const& a, std::size_t c, Visit visit) {
    shape const& s = a.output_shape;
    auto const channels = static_cast<std::size_t>(channels_of(s));
    std::size_t const area = s.rank == 2 ? 1 : static_cast<std::size_t>(s.elements()) / channels;
    for (std::size_t first = c * area; first < a.elements_of_output(); first += channels * area)
      for (std::size_t i = first; i < first + area; ++i) visit(i);
  }
};

extern template struct detail::host_kernels<batch_norm>;

}  // namespace cohort
