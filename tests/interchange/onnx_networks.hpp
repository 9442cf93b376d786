// SPDX-License-Identifier: Apache-2.0
#pragma once
// Networks of every kind of layer, for the tests of ONNX.
#include <cohort/backend/reference.hpp>
#include <cohort/cohort.hpp>
#include <cohort/graph/with_state.hpp>
#include <cohort/interchange/export_onnx.hpp>
#include <cohort/layer/attention.hpp>
#include <cohort/layer/positions.hpp>
#include <cohort/layer/rms_norm.hpp>
#include <functional>
#include <random>

namespace onnx_networks {

using namespace cohort;

struct network_case {
  std::string name;
  std::function<void(builder&)> describe;
  std::function<void(training&)> prepare = {};
  onnx_export_settings how = {};
};

/// A network of one layer on an image, a sequence or a row.
template <class L>
network_case on(std::string name, shape input, L const& one) {
  return {std::move(name), [=](builder& b) { b.input(input, "x") | one; }};
}

template <class... L>
network_case masked(std::string name, L const&... layers) {
  return {std::move(name), [=](builder& b) { (b.masked_input({5, 3}, "x") | ... | layers); }};
}

/// The padding is −1 at all steps after the last one.
template <class... L>
network_case padded(std::string name, L const&... layers) {
  return {std::move(name), [=](builder& b) { (b.padded_input({5, 3}, -1, "x") | ... | layers); }};
}

inline std::vector<network_case> all_cases() {
  using pad = padding;
  auto const act = recurrent_activation::relu;
  std::vector<network_case> cases{
      on("conv2d", {2, 7, 6}, conv2d{.filters = 3, .kernel = {3, 2}}),
      on("conv2d_same", {4, 7, 6},
         conv2d{.filters = 6, .kernel = {4, 3}, .stride = {2, 3}, .padding = pad::same, .groups = 2, .bias = false}),
      on("conv2d_sides", {2, 7, 9},
         conv2d{.filters = 2, .kernel = 3, .stride = 2, .padding = {1, 2, 0, 1}, .dilation = {1, 2}}),
      on("conv2d_strict", {2, 7, 9}, conv2d{.filters = 2, .kernel = 3, .stride = 2, .padding = pad::strict}),
      {"separable_conv2d",
       [](builder& b) { b.input({3, 6, 6}, "x") | separable_conv2d{.filters = 4, .kernel = 3, .multiplier = 2}; }},
      on("conv1d", {9, 3}, conv1d{.filters = 4, .kernel = 3, .stride = 2, .padding = pad(0, 0, 1, 0)}),
      on("conv1d_same", {9, 4}, conv1d{.filters = 4, .kernel = 4, .padding = pad::same, .dilation = 2, .groups = 2}),
      on("conv2d_transposed", {4, 3, 4}, conv2d_transposed{.filters = 6, .kernel = {3, 2}, .stride = 2, .groups = 2}),
      on("conv2d_transposed_same", {2, 3, 4},
         conv2d_transposed{.filters = 3, .kernel = 2, .stride = {3, 2}, .padding = pad::same, .bias = false}),
      on("conv2d_transposed_sides", {2, 3, 4},
         conv2d_transposed{.filters = 3, .kernel = 3, .stride = 2, .padding = {1, 0, 1, 1}, .dilation = 2}),
      on("max_pool", {2, 7, 6}, max_pool{.window = 2}),
      on("max_pool_same", {2, 7, 6}, max_pool{.window = 3, .stride = 2, .padding = pad::same}),
      on("avg_pool", {2, 7, 6}, avg_pool{.window = {2, 3}, .stride = 1}),
      on("avg_pool_same", {2, 7, 6}, avg_pool{.window = 3, .stride = 2, .padding = pad::same}),
      on("global_avg_pool", {3, 4, 5}, global_avg_pool{}),
      on("global_avg_pool_sequence", {4, 3}, global_avg_pool{}),
      on("global_max_pool", {3, 4, 5}, global_max_pool{}),
      on("global_max_pool_sequence", {4, 3}, global_max_pool{}),
      on("dense", {7}, dense{.units = 4}),
      on("dense_image", {2, 3, 4}, dense{.units = 4, .bias = false}),
      on("dense_sequence", {5, 3}, dense{.units = 4}),
      on("dense_sequence_without_bias", {5, 3}, dense{.units = 4, .bias = false}),
      on("relu", {3, 4}, relu{}),
      on("leaky_relu", {3, 4}, leaky_relu{.slope = 0.2}),
      on("relu6", {300}, relu6{}),
      on("elu", {30}, elu{.alpha = 0.5}),
      on("selu", {30}, selu{}),
      on("sigmoid", {30}, sigmoid{}),
      on("hard_sigmoid", {30}, hard_sigmoid{}),
      on("tanh", {30}, tanh_activation{}),
      on("hard_tanh", {30}, hard_tanh{}),
      on("softplus", {30}, softplus{}),
      on("softsign", {30}, softsign{}),
      on("swish", {30}, swish{}),
      on("gelu", {30}, gelu{}),
      on("gelu_tanh", {30}, gelu_tanh{}),
      on("mish", {30}, mish{}),
      on("identity", {30}, identity_activation{}),
      on("prelu", {3, 4, 5}, prelu{}),
      on("prelu_sequence", {5, 3}, prelu{}),
      on("prelu_single", {3, 4, 5}, prelu{.per_channel = false}),
      on("softmax", {6}, softmax{}),
      on("softmax_sequence", {4, 3}, softmax{}),
      on("softmax_image", {3, 2, 4}, softmax{}),
      on("log_softmax", {6}, log_softmax{}),
      on("log_softmax_sequence", {4, 3}, log_softmax{}),
      on("log_softmax_image", {3, 2, 4}, log_softmax{}),
      on("subset", {5, 2, 3}, subset{.first = 1, .last = 4}),
      on("subset_sequence", {5, 4}, subset{.first = 1, .last = 3}),
      on("scale", {3, 2, 2}, scale{.factor = -0.75}),
      on("scale_learned", {3, 2, 2}, scale{.factor = 2, .learned = true}),
      on("scale_learned_sequence", {4, 3}, scale{.factor = 2, .learned = true}),
      on("zero_padding", {2, 3, 4}, zero_padding{.sides = {1, 2, 0, 3}}),
      on("cropping", {2, 5, 6}, cropping{.sides = {1, 2, 0, 3}}),
      on("upsampling", {2, 3, 4}, upsampling{.factor = {2, 3}}),
      on("bilinear_upsampling", {2, 3, 4}, bilinear_upsampling{.factor = {2, 3}}),
      on("bilinear_upsampling_corners", {2, 3, 4}, bilinear_upsampling{.factor = 3, .align_corners = true}),
      on("permute", {2, 3, 4}, permute{.order = {2, 0, 1}}),
      on("permute_sequence", {4, 3}, permute{.order = {1, 0}}),
      on("channel_shuffle", {6, 2, 3}, permute{.order = {1, 0, 2}, .view = {3, 2, 6}, .extents = {6, 2, 3}}),
      on("pixel_shuffle", {8, 2, 3},
         permute{.order = {0, 3, 1, 4, 2}, .view = {2, 2, 2, 2, 3}, .extents = {2, 4, 6}}),
      on("reshape", {2, 3, 4}, reshape{.extents = {6, 4}}),
      on("flatten", {2, 3, 4}, flatten{}),
      on("dropout", {5}, dropout{}),
      on("spatial_dropout", {3, 2, 2}, spatial_dropout{}),
      on("gaussian_noise", {5}, gaussian_noise{}),
      on("lrn", {8, 3, 4}, lrn{.k = 1.5, .n = 3, .alpha = 0.2, .beta = 0.6}),
      on("lrn_row", {8}, lrn{.n = 5, .alpha = 0.2}),
      on("lrn_rows", {8, 3}, lrn{.n = 5, .alpha = 0.2}),
      on("batch_norm", {3, 4, 5}, batch_norm{.epsilon = 1e-3}),
      on("batch_norm_row", {6}, batch_norm{}),
      on("batch_norm_sequence", {4, 3}, batch_norm{}),
      on("synchronised_batch_norm", {3, 4, 5}, synchronised_batch_norm{}),
      on("layer_norm", {4, 6}, layer_norm{}),
      on("layer_norm_axes", {2, 3, 4}, layer_norm{.axes = 2, .epsilon = 1e-3}),
      on("group_norm", {6, 3, 4}, group_norm{.groups = 3, .epsilon = 1e-3}),
      on("group_norm_row", {6}, group_norm{.groups = 2}),
      on("group_norm_sequence", {4, 6}, group_norm{.groups = 2}),
      on("instance_norm", {3, 4, 5}, group_norm{.groups = 3}),
      on("rms_norm", {4, 6}, rms_norm{.epsilon = 1e-4}),
      on("learned_positions", {4, 6}, learned_positions{}),
      on("sinusoidal_positions", {4, 6}, sinusoidal_positions{}),
      on("embedding", {5}, embedding{.vocabulary = 9, .width = 3}),
      on("embedding_image", {3, 2}, embedding{.vocabulary = 9, .width = 4}),
      on("simple_rnn", {5, 3}, simple_rnn{.units = 4}),
      on("simple_rnn_relu", {5, 3}, simple_rnn{.units = 4, .last_step = true, .reverse = true, .activation = act}),
      on("lstm", {5, 3}, lstm{.units = 4}),
      on("lstm_last_step", {5, 3}, lstm{.units = 4, .last_step = true, .bias = false}),
      on("lstm_peepholes", {5, 3}, lstm{.units = 4, .reverse = true, .peepholes = true}),
      on("lstm_functions", {5, 3},
         lstm{.units = 4,
              .activation = recurrent_activation::identity,
              .gate_activation = recurrent_activation::hard_sigmoid}),
      on("gru", {5, 3}, gru{.units = 4}),
      on("gru_before", {5, 3}, gru{.units = 4, .last_step = true, .reset_after = false}),
      on("gru_without_bias", {5, 3}, gru{.units = 4, .reverse = true, .bias = false}),
      on("attention", {5, 24}, attention{.heads = 2}),
      on("attention_causal", {5, 24}, attention{.heads = 2, .causal = true, .rotary = 100}),
      on("attention_of_the_past", {5, 24}, attention{.heads = 4, .causal = true}),
      on("softmax_cross_entropy", {4}, softmax_cross_entropy{}),
      on("softmax_cross_entropy_steps", {5, 4}, softmax_cross_entropy{}),
      on("kullback_leibler", {4}, kullback_leibler{}),
      on("dice", {6, 3}, dice{}),
      on("dice_of_several_labels", {6, 3}, dice{.multi_label = true}),
      on("binary_cross_entropy", {4}, binary_cross_entropy{}),
      on("mean_squared_error", {4}, mean_squared_error{}),
      on("mean_absolute_error", {4}, mean_absolute_error{}),
      on("huber", {4}, huber{}),
      on("hinge", {4}, hinge{}),
      padded("padded_dense", dense{.units = 4}, zero_masked{}),
      padded("padded_conv1d", conv1d{.filters = 4, .kernel = 3, .padding = pad::same}),
      padded("padded_global_avg_pool", global_avg_pool{}),
      padded("padded_attention", dense{.units = 12}, attention{.heads = 2}),
      masked("masked_conv1d", conv1d{.filters = 4, .kernel = 3, .padding = pad::same}),
      masked("masked_global_avg_pool", global_avg_pool{}),
      masked("masked_global_max_pool", global_max_pool{}),
      masked("masked_flatten", flatten{}),
      masked("masked_batch_norm", batch_norm{}),
      masked("masked_simple_rnn", simple_rnn{.units = 4, .reverse = true}),
      masked("masked_lstm", lstm{.units = 4}, dense{.units = 2}),
      masked("masked_lstm_last_step", lstm{.units = 4, .last_step = true, .reverse = true}),
      masked("masked_lstm_reset", lstm{.units = 4, .last_step = true, .resets_masked = true}),
      masked("masked_gru", gru{.units = 4}, zero_masked{}),
      masked("masked_attention", dense{.units = 12}, attention{.heads = 2}),
      masked("masked_attention_causal", dense{.units = 12}, attention{.heads = 2, .causal = true}),
      {"add", [](builder& b) {
         auto const x = b.input({3, 2, 4}, "x");
         return join(add{}, x, b.input({3, 1, 1}, "y"), b.input({2, 4}, "z"));
       }},
      {"multiply", [](builder& b) {
         auto const x = b.input({3, 2, 4}, "x");
         return join(multiply{}, x, b.input({3, 1, 1}, "y"), b.input({2, 4}, "z"));
       }},
      {"average_and_maximum", [](builder& b) {
         auto const x = b.input({3, 2}, "x"), y = b.input({3, 2}, "y");
         return concat(join(average{}, x, y), join(maximum{}, x, y, x));
       }},
      {"concatenate", [](builder& b) {
         return concat(b.input({3, 2, 4}, "x"), b.input({1, 2, 4}, "y")) | relu{};
       }},
      {"matmul", [](builder& b) {
         return join(matmul{.transpose_a = true}, b.input({3, 4, 2}, "x"), b.input({4, 5}, "y"));
       }},
      {"matmul_transposed", [](builder& b) {
         return join(matmul{.transpose_b = true}, b.input({2, 4}, "x"), b.input({5, 4}, "y"));
       }},
      {"attention_with_three_inputs", [](builder& b) {
         return join(attention{.heads = 2}, b.input({4, 6}, "q"), b.input({3, 6}, "k"), b.input({3, 8}, "v"));
       }},
      {"attention_to_a_masked_sequence", [](builder& b) {
         auto const x = b.masked_input({5, 3}, "x") | dense{.units = 6};
         return join(attention{.heads = 2}, b.input({4, 6}, "q"), x, x);
       }},
      {"encoder_and_decoder", [](builder& b) {
         auto const from = with_state(lstm{.units = 4, .last_step = true}, b.input({5, 3}, "source"));
         return join(lstm{.units = 4}, b.input({2, 3}, "target"), from.state(), from.cells()) | dense{.units = 2};
       }},
      {"gru_with_state", [](builder& b) {
         auto const x = with_state(gru{.units = 4}, b.masked_input({5, 3}, "x"));
         return concat(x.state(), x.steps() | global_avg_pool{});
       }},
      {"bidirectional", [](builder& b) {
         auto const x = b.input({5, 3}, "x");
         return concat(x | lstm{.units = 4}, x | lstm{.units = 4, .reverse = true});
       }},
      {"mask_zero_attention", [](builder& b) {
         return b.input({5}, "x") | embedding{.vocabulary = 4, .width = 6, .mask_zero = true} | dense{.units = 12}
                | attention{.heads = 2, .causal = true} | global_avg_pool{};
       }},
      {"padded_indices", [](builder& b) {
         return b.padded_input({5}, 0, "x") | embedding{.vocabulary = 4, .width = 6} | global_avg_pool{};
       }},
      {"shared", [](builder& b) {
         auto const x = b.input({4}, "x") | dense{.units = 4, .name = "first"};
         return x | relu{} | dense{.units = 4, .settings = {.shares = "first"}};
       }},
      {"two_outputs", [](builder& b) {
         auto const x = b.input({4}, "x") | dense{.units = 4} | relu{};
         x | dense{.units = 3} | softmax_cross_entropy{.name = "class"};
         x | dense{.units = 1} | mean_squared_error{.name = "size"};
       }},
      {"lenet", [](builder& b) {
         return b.input({1, 28, 28}, "pixels") | conv2d{.filters = 20, .kernel = 5} | max_pool{.window = 2}
                | conv2d{.filters = 50, .kernel = 5} | max_pool{.window = 2} | dense{.units = 500} | relu{}
                | dense{.units = 10} | softmax_cross_entropy{};
       }},
      {"transformer", [](builder& b) {
         auto x = b.input({5}, "x") | embedding{.vocabulary = 4, .width = 6} | learned_positions{};
         x = x
             + (x | layer_norm{} | dense{.units = 18} | attention{.heads = 3, .causal = true} | dense{.units = 6});
         x = x + (x | layer_norm{} | dense{.units = 12} | gelu{} | dense{.units = 6});
         return x | layer_norm{} | dense{.units = 4} | softmax_cross_entropy{};
       }},
      {"residual", [](builder& b) {
         auto const x = b.input({3, 8, 8}, "x") | conv2d{.filters = 4, .kernel = 3, .padding = pad::same}
                        | batch_norm{} | relu{};
         return (x + (x | conv2d{.filters = 4, .kernel = 3, .padding = pad::same} | batch_norm{})) | relu{}
                | global_avg_pool{} | dense{.units = 3} | softmax_cross_entropy{};
       }},
  };
  cases.push_back({"mask_zero_lstm",
                   [](builder& b) {
                     return b.input({5}, "x") | embedding{.vocabulary = 4, .width = 6, .mask_zero = true}
                            | lstm{.units = 3, .last_step = true};
                   },
                   {},
                   {.padding_at_end = true}});
  cases.push_back(
      {"padded_lstm",
       [](builder& b) {
         return b.padded_input({5, 3}, -1, "x") | lstm{.units = 3} | lstm{.units = 2, .last_step = true};
       },
       {},
       {.padding_at_end = true}});
  cases.push_back({"normalised",
                   [](builder& b) {
                     auto const x = b.input({2, 3, 3}, "x") | conv2d{.filters = 2, .kernel = 3} | flatten{};
                     return concat(x, b.input({4}, "y")) | dense{.units = 2} | mean_squared_error{};
                   },
                   [](training& run) {
                     normalisation how;
                     how.inputs = {{{0.5, 1}, {2, -3}}, {{1, 0}, {2, 0}, {0.25, 1}, {4, -1}}};
                     how.targets = {{{0.5, 3}, {0.125, -2}}};
                     run.normalise(how);
                   }});
  cases.push_back({"normalised_sequence",
                   [](builder& b) {
                     return b.input({4, 3}, "x") | gru{.units = 2} | mean_squared_error{};
                   },
                   [](training& run) {
                     normalisation how;
                     how.inputs = {{{0.5, 1}, {2, -3}, {1, 1}}};
                     how.targets = {{{0.5, 3}, {0.125, -2}}};
                     run.normalise(how);
                   }});
  return cases;
}

inline void fill_parameters(training& run, std::mt19937& random) {
  parameter_set& all = run.parameters();
  for (int p = 0; p < static_cast<int>(all.table().size()); ++p) {
    parameter const& one = all.table()[static_cast<std::size_t>(p)];
    std::vector<float> values(static_cast<std::size_t>(one.spec.dims.elements()));
    std::normal_distribution<float> normal(0, 0.5F);
    for (float& value : values) {
      value = normal(random);
      if (one.spec.role == parameter_role::running_variance) value = 0.5F + value * value;
    }
    all.write(p, reinterpret_cast<std::byte const*>(values.data()), all.master());
  }
  all.mark_changed();
}

/// Random inputs of three examples. Sequences have all, two and one of their steps.
struct random_batch {
  static constexpr int count = 3;
  batch_view view{};
  std::vector<std::vector<std::int32_t>> lengths{};  // lengths of each mask

  random_batch(graph_view net, std::mt19937& random) {
    view.count = count;
    for (int const id : net.with_role(layer_role::input)) {
      shape const dims = net[id].output.batched(count);
      std::normal_distribution<float> normal(0, 2);
      if (net.is_indices(id)) {
        auto& to = indices_.emplace_back(static_cast<std::size_t>(dims.elements()));
        for (std::size_t i = 0; i < to.size(); ++i)
          to[i] = static_cast<std::int32_t>(i % 5 < 2 + i / 5 ? 1 + random() % 3 : 0);
        view.inputs.emplace_back(to.data(), dims);
      } else {
        auto& to = numbers_.emplace_back(static_cast<std::size_t>(dims.elements()));
        for (float& value : to) value = normal(random);
        view.inputs.emplace_back(to.data(), dims);
      }
      if (net[id].mask != id) continue;
      int const steps = net[id].output[0];
      lengths.push_back({steps, 2, 1});
      if (net.kind(id) == kind_of<padded_input>) {
        if (net.is_indices(id)) continue;  // padded by 0 above
        auto const value = static_cast<float>(detail::decode<padded_input>(net.fields(id)).value);
        auto const width = numbers_.back().size() / static_cast<std::size_t>(count * steps);
        for (std::size_t n = 0; n < count; ++n)
          std::fill_n(numbers_.back().begin()
                          + static_cast<std::ptrdiff_t>((n * static_cast<std::size_t>(steps)
                                                         + static_cast<std::size_t>(lengths.back()[n]))
                                                        * width),
                      static_cast<std::size_t>(steps - lengths.back()[n]) * width, value);
        continue;
      }
      auto& mask = masks_.emplace_back();
      for (int const length : lengths.back())
        for (int t = 0; t < steps; ++t) mask.push_back(t < length);
      view.masks.emplace_back(mask.data(), shape{count, steps});
    }
  }
  random_batch(random_batch const&) = delete;

 private:
  std::vector<std::vector<float>> numbers_;
  std::vector<std::vector<std::int32_t>> indices_;
  std::vector<std::vector<std::uint8_t>> masks_;
};

}  // namespace onnx_networks
