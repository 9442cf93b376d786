// SPDX-License-Identifier: Apache-2.0
// Models of Keras 2 with the backend Theano: the expected numbers are computed from Theano's formulas,
// because Theano no longer runs.
#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>
#include <cohort/cohort.hpp>
#include <cohort/keras/detail/import_keras.hpp>
#include <numeric>

namespace keras_theano_test {

using namespace cohort;

/// The elements of each array are 1, 2, 3 ….
class counting_arrays : public detail::keras_weight_source {
 public:
  explicit counting_arrays(std::size_t count) : count_(count) {}
  bool has_paths() const override { return false; }
  std::optional<std::size_t> count_of(std::string const&) const override { return {}; }
  detail::keras_array read(std::string const&, std::size_t, std::vector<int> const&) const override {
    return {};
  }
  std::size_t count_in_group(std::string const&) const override { return count_; }
  detail::keras_array read_in_group(std::string const&, std::size_t,
                                    std::vector<int> const& dims) const override {
    std::size_t const count = std::accumulate(
        dims.begin(), dims.end(), std::size_t{1},
        [](std::size_t product, int extent) { return product * static_cast<std::size_t>(extent); });
    detail::keras_array made{.dims = dims, .values = std::vector<float>(count)};
    std::iota(made.values.begin(), made.values.end(), 1.0F);
    return made;
  }
  std::string const& name() const override { return name_; }

 private:
  std::size_t count_;
  std::string name_ = "arrays";
};

imported_model model_of(std::string const& class_name, std::string const& fields, std::size_t arrays = 1) {
  counting_arrays const weights(arrays);
  return detail::import_keras(
      R"({"class_name": "Sequential", "config": {"name": "m", "layers": [{"class_name": ")" + class_name
          + R"(", "config": {"name": "layer", )" + fields + "}}]}}",
      "Keras 2", {}, {2, 2}, nullptr, arrays > 0 ? &weights : nullptr, "theano");
}

std::vector<double> output_of(imported_model const& model, std::vector<double> const& x) {
  training const run = load_imported<reference<double>>(model);
  predictions const made = run.predict(tensor_view(x.data(), model.network().view()[0].output.batched(1)));
  return {made.values.begin(), made.values.end()};
}

TEST(keras_theano, kernels_of_convolutions_are_flipped) {
  // y(i, j) = Σ x(i + r, j + s)·w(1 − r, 2 − s)
  std::vector<double> const x{1, 0, 2, 5, -1, 3, 4, 0, 7, 2, 2, 1};
  std::vector<double> expected;
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t j = 0; j < 2; ++j) {
      double sum = 0;
      for (std::size_t r = 0; r < 2; ++r)
        for (std::size_t s = 0; s < 3; ++s)
          sum += x[4 * (i + r) + j + s] * static_cast<double>(1 + 3 * (1 - r) + 2 - s);
      expected.push_back(sum);
    }
  std::string const fields = R"("batch_input_shape": [null, 3, 4, 1], "filters": 1, "kernel_size": [2, 3],
                                "padding": "valid", "data_format": "channels_last", "use_bias": false)";
  EXPECT_EQ(output_of(model_of("Conv2D", fields), x), expected);
}

TEST(keras_theano, kernels_of_depthwise_convolutions_are_not_flipped) {
  std::string const fields =
      R"("batch_input_shape": [null, 2, 2, 1], "kernel_size": [2, 2], "padding": "valid",
                                "data_format": "channels_last", "use_bias": false)";
  EXPECT_EQ(output_of(model_of("DepthwiseConv2D", fields), {1, 0, 0, 0}), std::vector<double>{1});
}

TEST(keras_theano, kernels_of_transposed_convolutions_are_flipped) {
  std::string const fields = R"("batch_input_shape": [null, 1, 1, 1], "filters": 1, "kernel_size": [2, 2],
                                "padding": "valid", "data_format": "channels_last", "use_bias": false)";
  EXPECT_EQ(output_of(model_of("Conv2DTranspose", fields), {1}), (std::vector<double>{4, 3, 2, 1}));
}

TEST(keras_theano, windows_of_padding_same_begin_before_the_input) {
  // A kernel (1, 2): y(t) = 2·x(t − 1) + 1·x(t), where x(−1) is padding.
  std::string const sequence = R"("batch_input_shape": [null, 3, 1], "padding": "same")";
  EXPECT_EQ(
      output_of(model_of("Conv1D", sequence + R"(, "filters": 1, "kernel_size": [2], "use_bias": false)"),
                {1, 10, 100}),
      (std::vector<double>{1, 12, 120}));
  // A kernel (1, 2, 3) with stride 2 on 4 steps: windows begin at −1 and 1.
  EXPECT_EQ(
      output_of(model_of("Conv1D", R"("batch_input_shape": [null, 4, 1], "padding": "same", "strides": [2],
                                            "filters": 1, "kernel_size": [3], "use_bias": false)"),
                {1, 10, 100, 1000}),
      (std::vector<double>{0 * 3 + 1 * 2 + 10 * 1, 10 * 3 + 100 * 2 + 1000 * 1}));
  // Windows of two steps begin at −1 and 1, those of three at −1 and 2.
  EXPECT_EQ(
      output_of(model_of("MaxPooling1D", sequence + R"(, "pool_size": [2], "strides": [2])", 0), {1, 5, 2}),
      (std::vector<double>{1, 5}));
  EXPECT_EQ(
      output_of(model_of("MaxPooling1D", sequence + R"(, "pool_size": [3], "strides": [3])", 0), {1, 5, 2}),
      (std::vector<double>{5}));
}

TEST(keras_theano, other_padding_is_refused_by_name) {
  for (auto const& [class_name, kind] : {std::pair<std::string, std::string>{"Conv2DTranspose", "transposed"},
                                         {"SeparableConv2D", "separable"}})
    try {
      model_of(class_name, R"("batch_input_shape": [null, 4, 4, 1], "filters": 1, "kernel_size": [3, 3],
                              "padding": "same", "data_format": "channels_last")",
               0);
      ADD_FAILURE() << class_name;
    } catch (data_error const& problem) {
      EXPECT_NE(std::string(problem.what())
                    .find("Theano pads a " + kind + " convolution in another way than TensorFlow"),
                std::string::npos)
          << problem.what();
    }
}

}  // namespace keras_theano_test
