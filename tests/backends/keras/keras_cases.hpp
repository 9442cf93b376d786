// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cmath>
#include <cohort/cohort.hpp>
#include <cohort/keras/detail/import_keras.hpp>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

/// A tensor of a case, in Keras' order of axes, with the batch.
struct keras_tensor {
  std::string name{};
  std::vector<int> dims{};
  std::vector<double> values{};  // of an input: empty for waves
};

/// A case of golden/keras/layers.txt, curves.txt, names.txt or optimizers.txt.
struct keras_case {
  std::string name{}, config{}, refused{};
  std::vector<keras_tensor> inputs{}, outputs{}, targets{};
  std::vector<keras_tensor> inner{};  // outputs of the layers; without extents if a layer has several
  std::vector<double> mask{}, losses{};
};

struct keras_cases {
  std::vector<keras_case> cases{};
  std::vector<std::pair<std::string, std::string>> classes{};  // with a configuration if refused
};

inline keras_cases read_keras_cases(std::string const& name = "layers.txt") {
  std::ifstream file(COHORT_SOURCE_DIR "/tests/golden/keras/" + name);
  EXPECT_TRUE(file);
  keras_cases made;
  std::string* config = nullptr;
  auto const tensor = [](std::istringstream& words, bool named) {
    keras_tensor read;
    if (named) words >> read.name;
    for (std::string word; words >> word;) {
      if (word == "several") break;
      if (word != ":") {
        read.dims.push_back(std::stoi(word));
        continue;
      }
      for (double one = 0; words >> one;) read.values.push_back(one);
    }
    return read;
  };
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string key;
    words >> key;
    if (key == "case") {
      made.cases.emplace_back();
      words >> made.cases.back().name;
      config = &made.cases.back().config;
    } else if (key == "class") {
      made.classes.emplace_back();
      words >> made.classes.back().first;
      config = &made.classes.back().second;
    } else if (key == "config") {
      *config = line.substr(7);
    } else if (key == "refused") {
      made.cases.back().refused = line.substr(8);
    } else if (key == "input") {
      made.cases.back().inputs.push_back(tensor(words, true));
    } else if (key == "inner") {
      made.cases.back().inner.push_back(tensor(words, true));
    } else if (key == "output") {
      made.cases.back().outputs.push_back(tensor(words, false));
    } else if (key == "target") {
      made.cases.back().targets.push_back(tensor(words, false));
    } else if (key == "losses") {
      for (double one = 0; words >> one;) made.cases.back().losses.push_back(one);
    } else if (key == "mask") {
      for (double one = 0; words >> one;) made.cases.back().mask.push_back(one);
    }
  }
  return made;
}

/// wave() of keras_models.py.
inline std::vector<double> keras_wave(std::size_t count, double phase) {
  std::vector<double> made(count);
  for (std::size_t i = 0; i < count; ++i)
    made[i] = static_cast<float>(std::sin(0.9 * static_cast<double>(i) + phase));
  return made;
}

/// Arrays by their paths: weight() of keras_models.py.
class named_waves : public cohort::detail::keras_weight_source {
 public:
  bool has_paths() const override { return true; }
  std::optional<std::size_t> count_of(std::string const&) const override { return {}; }
  cohort::detail::keras_array read(std::string const& object, std::size_t index,
                                   std::vector<int> const& dims) const override {
    std::string const path = object + "/vars/" + std::to_string(index);
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < path.size(); ++i) sum += static_cast<std::int64_t>(i + 1) * path[i];
    auto const phase = static_cast<double>(sum % 1000);
    double const offset = path.find("normalization") != std::string::npos ? 0.7 : 0;
    cohort::detail::keras_array made{.dims = dims};
    std::size_t count = 1;
    for (int const extent : dims) count *= static_cast<std::size_t>(extent);
    for (std::size_t i = 0; i < count; ++i)
      made.values.push_back(
          static_cast<float>(offset + 0.4 * std::sin(0.37 * static_cast<double>(i) + phase)));
    return made;
  }
  std::size_t count_in_group(std::string const&) const override { return 0; }
  cohort::detail::keras_array read_in_group(std::string const&, std::size_t,
                                            std::vector<int> const&) const override {
    return {};
  }
  std::string const& name() const override { return name_; }

 private:
  std::string name_ = "waves";
};

/// Images H×W×C → C×H×W, or back; other tensors are unchanged.
inline std::vector<double> move_channels(std::vector<double> const& from, std::vector<int> const& dims,
                                         bool back) {
  if (dims.size() != 4) return from;
  auto const n = static_cast<std::size_t>(dims[0]), area = static_cast<std::size_t>(dims[1] * dims[2]),
             channels = static_cast<std::size_t>(dims[3]);
  std::vector<double> made(from.size());
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t p = 0; p < area; ++p)
      for (std::size_t c = 0; c < channels; ++c) {
        std::size_t const last = (i * area + p) * channels + c, first = (i * channels + c) * area + p;
        (back ? made[last] : made[first]) = back ? from[first] : from[last];
      }
  return made;
}

inline cohort::shape keras_shape(std::vector<int> const& dims) {
  if (dims.size() == 4) return {dims[0], dims[3], dims[1], dims[2]};
  cohort::shape made;
  for (int const extent : dims) made[made.rank++] = extent;
  return made;
}

/// The batch of a case, in Cohort's order.
struct keras_batch {
  std::vector<std::vector<double>> numbers{};
  std::vector<std::uint8_t> mask{};
  cohort::batch_view view{};

  explicit keras_batch(keras_case const& one) {
    for (std::size_t i = 0; i < one.inputs.size(); ++i) {
      keras_tensor const& from = one.inputs[i];
      std::size_t count = 1;
      for (int const extent : from.dims) count *= static_cast<std::size_t>(extent);
      numbers.push_back(move_channels(
          from.values.empty() ? keras_wave(count, static_cast<double>(i)) : from.values, from.dims, false));
    }
    for (keras_tensor const& from : one.targets)
      numbers.push_back(move_channels(from.values, from.dims, false));
    for (double const exists : one.mask) mask.push_back(exists != 0);
    for (std::size_t i = 0; i < one.inputs.size(); ++i)
      view.inputs.emplace_back(numbers[i].data(), keras_shape(one.inputs[i].dims));
    if (!mask.empty())
      view.masks.emplace_back(mask.data(), cohort::shape{one.inputs[0].dims[0], one.inputs[0].dims[1]});
    view.count = one.inputs[0].dims[0];
  }
  keras_batch(keras_batch const&) = delete;
  keras_batch& operator=(keras_batch const&) = delete;
};

/// Returns the differences between an output and Keras' output; empty if there are none. `mask`: steps to
/// compare; empty: all.
inline std::string compare_output(cohort::predictions const& made, keras_tensor const& wanted,
                                  std::vector<std::uint8_t> const& mask = {}, double tolerance = 1e-5) {
  cohort::shape const dims = made.example.batched(made.count());
  if (!(dims == keras_shape(wanted.dims)))
    return "expected " + to_string(keras_shape(wanted.dims)) + ", got " + to_string(dims);
  std::vector<double> got(made.values.begin(), made.values.end());
  got = move_channels(got, wanted.dims, true);
  bool const steps = !mask.empty() && wanted.dims.size() == 3;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (steps && mask[i / static_cast<std::size_t>(wanted.dims[2])] == 0) continue;
    if (!(std::abs(got[i] - wanted.values[i]) <= tolerance * std::max(1.0, std::abs(wanted.values[i]))))
      return "element " + std::to_string(i) + ": expected " + std::to_string(wanted.values[i]) + ", got "
             + std::to_string(got[i]);
  }
  return "";
}

/// Compares the outputs of a run with those of a case, by the names of the outputs and in the network's
/// order. If the batch has a mask, masked steps are not compared.
inline std::string compare_outputs(cohort::training const& run, cohort::imported_model const& model,
                                   keras_case const& one, double tolerance = 1e-5) {
  keras_batch const batch(one);
  for (std::vector<std::string> const& layers : {model.outputs, std::vector<std::string>()}) {
    auto const outputs = run.outputs_of(layers, batch.view);
    if (outputs.size() != one.outputs.size())
      return "expected " + std::to_string(one.outputs.size()) + " outputs, got "
             + std::to_string(outputs.size());
    for (std::size_t k = 0; k < outputs.size(); ++k)
      if (std::string const found = compare_output(outputs[k], one.outputs[k], batch.mask, tolerance);
          !found.empty())
        return "output " + (layers.empty() ? std::to_string(k) : layers[k]) + ", " + found;
  }
  return "";
}
