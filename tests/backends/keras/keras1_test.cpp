// SPDX-License-Identifier: Apache-2.0
// Configurations of Keras 1, written by hand from its documentation: there is no Keras 1 to compare with.
// covers: keras
#include <gtest/gtest.h>

#include <cohort/backend/reference.hpp>
#include <cohort/cohort.hpp>
#include <cohort/keras/detail/import_keras.hpp>
#include <cohort/plan/parameter_set.hpp>

using namespace cohort;

namespace {

/// Arrays of a layer, by index: all elements of array n are n.
class numbered_arrays : public detail::keras_weight_source {
 public:
  explicit numbered_arrays(std::map<std::string, std::size_t> counts) : counts_(std::move(counts)) {}
  bool has_paths() const override { return false; }
  std::optional<std::size_t> count_of(std::string const&) const override { return {}; }
  detail::keras_array read(std::string const&, std::size_t, std::vector<int> const&) const override {
    return {};
  }
  std::size_t count_in_group(std::string const& layer) const override { return counts_.at(layer); }
  detail::keras_array read_in_group(std::string const&, std::size_t number,
                                    std::vector<int> const& dims) const override {
    std::size_t count = 1;
    for (int const extent : dims) count *= static_cast<std::size_t>(extent);
    return {.dims = dims, .values = std::vector<float>(count, static_cast<float>(number))};
  }
  std::string const& name() const override { return name_; }

 private:
  std::map<std::string, std::size_t> counts_;
  std::string name_ = "arrays";
};

TEST(keras_1, models_with_layer_lists_and_former_field_names_are_imported) {
  auto const model = from_keras_config(R"({"class_name": "Sequential", "keras_version": "1.2.2", "config": [
    {"class_name": "Convolution2D", "config": {"name": "conv", "batch_input_shape": [null, 1, 8, 8], "nb_filter": 4,
      "nb_row": 3, "nb_col": 3, "border_mode": "same", "subsample": [2, 2], "dim_ordering": "th", "activation": "relu", "bias": true}},
    {"class_name": "MaxPooling2D", "config": {"name": "pool", "pool_size": [2, 2], "strides": [2, 2], "border_mode": "valid", "dim_ordering": "th"}},
    {"class_name": "Flatten", "config": {"name": "flat"}},
    {"class_name": "Dropout", "config": {"name": "drop", "p": 0.25}},
    {"class_name": "Dense", "config": {"name": "out", "output_dim": 3, "activation": "softmax", "bias": true}}]})");
  graph_view const net = model.network();
  EXPECT_EQ(net[net.find("conv")].output, (shape{4, 4, 4}));
  EXPECT_EQ(net[net.find("pool")].output, (shape{4, 2, 2}));
  EXPECT_EQ(net[net.find("out")].output, (shape{3}));
  EXPECT_EQ(net.fields(net.find("drop"))[0], 0.25);
  EXPECT_EQ(net.name(net.outputs()[0]), "out");
}

TEST(keras_1, models_with_three_arrays_per_lstm_gate_are_imported) {
  // W, U and b of the gates i, c, f, o: arrays 0 to 11. Cohort's gates are i f c o.
  numbered_arrays const weights({{"lstm", 12}, {"out", 2}});
  imported_model const model = detail::import_keras(
      R"({"class_name": "Sequential", "config": [
        {"class_name": "LSTM", "config": {"name": "lstm", "batch_input_shape": [null, 5, 3], "output_dim": 2,
          "activation": "tanh", "inner_activation": "hard_sigmoid"}},
        {"class_name": "Dense", "config": {"name": "out", "output_dim": 1}}]})",
      "Keras 1", {}, {1, 2}, nullptr, &weights);
  training run = load_imported<reference<double>>(model);
  parameter_set const& parameters = run.parameters();
  for (int p = 0; p < static_cast<int>(parameters.table().size()); ++p) {
    if (parameters.table()[static_cast<std::size_t>(p)].name != "lstm.bias") continue;
    std::vector<double> bias(8);
    parameters.read(p, parameters.master(), reinterpret_cast<std::byte*>(bias.data()));
    EXPECT_EQ(bias, (std::vector<double>{2, 2, 8, 8, 5, 5, 11, 11}));
  }
}

}  // namespace
