// SPDX-License-Identifier: Apache-2.0
#include "written_models.h"
#include <cohort/backend/reference.hpp>
#include <cohort/data/arrays.hpp>
#include <cohort/layer/recurrent.hpp>
#include <cohort/onednn.hpp>
#include <cohort/training/load.hpp>
#include <cohort/training/trainer.hpp>

#include <cohort/graph/graph.hpp>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace {

using namespace cohort;

/// An example with these class names, one list for each target; an empty list: no names.
dataset named_classes_of(graph_view net, std::vector<std::vector<std::string>> const& names) {
  static std::vector<float> const zeros(64);
  static std::vector<std::int32_t> const labels(1);
  std::vector<array_view> targets;
  std::vector<int> const losses = net.with_role(layer_role::loss);
  for (std::size_t t = 0; t < losses.size(); ++t)
    targets.push_back({.name = net.name(losses[t]),
                       .values = {labels.data(), {1}},
                       .classes = net.target(losses[t]).classes,
                       .label_names = names[t]});
  shape const input = net[net.with_role(layer_role::input)[0]].output;
  return arrays({{.name = "input", .values = {zeros.data(), input.batched(1)}}}, targets);
}

void save(graph net, std::string const& path, bool normalises,
          std::vector<std::vector<std::string>> const& names = {}) {
  training run = trainer<reference<float>>(std::move(net), {.seed = 7});
  if (!names.empty()) run.fit(named_classes_of(run.network(), names), {.epochs = 0});
  if (normalises) {
    std::vector<int> const inputs = run.network().with_role(layer_role::input);
    normalisation scaled;  // for the channels or columns of the first input
    scaled.inputs.resize(inputs.size());
    shape const first = run.network()[inputs[0]].output;
    auto const features = static_cast<std::size_t>(first[channel_axis(first)]);
    scaled.inputs[0].resize(features, channel_scaling{.scale = 0.5, .offset = -1});
    run.normalise(scaled);
  }
  run.save(path);
}

template <class Choice>
void predict(std::string const& path, int count, bool masked, float* outputs) {
  training const run = load_trained<Choice>(path);
  graph_view const net = run.network();
  constexpr int most = 64 * 36;  // largest number of elements of an input
  std::vector<float> numbers;
  std::vector<std::int32_t> indices;
  std::vector<std::uint8_t> mask;
  for (int i = 0; i < most; ++i) {
    numbers.push_back(input_number(i));
    indices.push_back(input_index(i));
    mask.push_back(i % 5 < 3);
  }
  batch_view call;
  call.count = count;
  for (int const input : net.with_role(layer_role::input)) {
    shape const dims = net[input].output.batched(count);
    call.inputs.push_back(net.is_indices(input) ? tensor_view(indices.data(), dims)
                                                : tensor_view(numbers.data(), dims));
    if (masked) call.masks.push_back(tensor_view(mask.data(), {count, dims[1]}));
  }
  for (predictions const& one : run.outputs_of({}, call))
    for (float const value : one.values) *outputs++ = value;
}

template <class Action>
int guarded(Action action) {
  try {
    action();
    return 0;
  } catch (std::exception const& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 1;
  }
}

}  // namespace

float input_number(int i) { return static_cast<float>(i * 37 % 17) / 8 - 1; }
int input_index(int i) { return i * 5 % 7; }

int write_models(char const* folder) {
  return guarded([&] {
    std::string const begin = std::string(folder) + '/';
    save(graph::build([](builder& b) {
           tensor const body =
               b.input({1, 6, 6}, "pixels") | conv2d{.filters = 2, .kernel = 3} | batch_norm{} | relu{};
           body | dense{.units = 3} | softmax_cross_entropy{.name = "digit"};
           body | dense{.units = 2} | softmax_cross_entropy{.name = "even"};
         }),
         begin + "image.safetensors", true, {{"null", "eins", "zw\u00f6lf"}, {}});
    save(graph::build([](builder& b) {
           b.masked_input({5, 2}, "series") | lstm{.units = 4, .name = "memory"} | mean_squared_error{};
         }),
         begin + "series.safetensors", true);
    save(graph::build([](builder& b) {
           b.input({5, 2}) | lstm{.units = 4, .reverse = true, .name = "memory"} | mean_squared_error{};
         }),
         begin + "backward.safetensors", false);
    save(graph::build([](builder& b) {
           b.input({4}, "words") | embedding{.vocabulary = 7, .width = 3} | flatten{} | dense{.units = 3}
               | softmax_cross_entropy{};
         }),
         begin + "words.safetensors", false);
    save(graph::build([](builder& b) {
           tensor const left = b.input({3}, "left"), right = b.input({2}, "right");
           concat(left, right | embedding{.vocabulary = 7, .width = 2} | flatten{}) | dense{.units = 3}
               | softmax_cross_entropy{};
         }),
         begin + "pair.safetensors", true);
    save(graph::build([](builder& b) {
           b.input({5}, "tokens") | embedding{.vocabulary = 7, .width = 3}
               | lstm{.units = 4, .last_step = true} | dense{.units = 2} | mean_squared_error{};
         }),
         begin + "last.safetensors", false);
  });
}

int expected_outputs(char const* folder, char const* model, char const* backend, int count, int masked,
                     float* outputs) {
  return guarded([&] {
    std::string const path = std::string(folder) + '/' + model + ".safetensors";
    if (std::string(backend) == "onednn")
      predict<onednn>(path, count, masked != 0, outputs);
    else if (std::string(backend) == "onednn_bf16")
      predict<onednn_bf16>(path, count, masked != 0, outputs);
    else
      predict<reference<float>>(path, count, masked != 0, outputs);
  });
}
