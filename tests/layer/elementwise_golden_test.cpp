// SPDX-License-Identifier: Apache-2.0
// covers: layer/bilinear_upsampling layer/permute layer/positions layer/rms_norm
#include <gtest/gtest.h>
#include <cohort/layer/layers.hpp>
#include <cohort/layer/positions.hpp>
#include <cohort/layer/rms_norm.hpp>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "../golden/golden_cases.hpp"
#include "lone_layer.hpp"

namespace elementwise_golden_test {

using namespace cohort;

/// For numbers of size 1 to 20. expm1, erfc and tanh differ between mathematical libraries by a few units in
/// the last place; sums of up to 20 terms depend on their order.
constexpr double tolerance = 2e-14;

void expect_near(std::vector<double> const& got, golden_tensor const& wanted, std::string const& what) {
  ASSERT_EQ(got.size(), wanted.values.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], wanted.values[i], tolerance) << what << ' ' << i;
}

/// Cases of the file, and the names of the compared cases.
class golden {
 public:
  explicit golden(std::string const& file) : cases_(read_golden_cases(file)) {}

  template <layer L>
  void compare(std::string const& name, L const& l) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(cases_.contains(name));
    golden_case& wanted = cases_.at(name);
    std::vector<shape> shapes;
    std::vector<std::vector<double>> inputs, parameters;
    for (golden_tensor const& one : wanted["input"]) {
      shapes.push_back(one.dims.example());
      inputs.push_back(one.values);
    }
    for (golden_tensor const& one : wanted["parameter"]) parameters.push_back(one.values);
    lone_layer<double> run(l, wanted["input"][0].dims[0], shapes, inputs, parameters);
    EXPECT_EQ(run.output_shape, wanted["output"][0].dims.example());
    expect_near(run.forward(), wanted["output"][0], "output");
    run.differentiate(wanted["diff_output"][0].values);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      expect_near(run.diff_inputs[i], wanted["diff_input"][i], "gradient of input");
    for (std::size_t p = 0; p < parameters.size(); ++p)
      expect_near(run.diff_parameters[p], wanted["diff_parameter"][p], "gradient of parameter");
    compared_.insert(name);
  }
  void expect_all_compared() const { EXPECT_EQ(compared_.size(), cases_.size()); }

 private:
  std::map<std::string, golden_case> cases_;
  std::set<std::string> compared_{};
};

TEST(elementwise_layers, agree_with_pytorch) {
  golden numbers("layers_elementwise.txt");
  numbers.compare("relu6", relu6{});
  numbers.compare("elu", elu{});
  numbers.compare("elu_of_another_alpha", elu{.alpha = 0.4});
  numbers.compare("selu", selu{});
  numbers.compare("sigmoid", sigmoid{});
  numbers.compare("hard_sigmoid", hard_sigmoid{});
  numbers.compare("tanh", tanh_activation{});
  numbers.compare("hard_tanh", hard_tanh{});
  numbers.compare("softplus", softplus{});
  numbers.compare("softsign", softsign{});
  numbers.compare("swish", swish{});
  numbers.compare("gelu", gelu{});
  numbers.compare("mish", mish{});
  numbers.compare("identity", cohort::identity_activation{});
  numbers.compare("prelu", prelu{});
  numbers.compare("prelu_of_one_slope", prelu{.per_channel = false});
  numbers.compare("softmax", softmax{});
  numbers.compare("softmax_of_an_image", softmax{});
  numbers.compare("multiply", multiply{});
  numbers.compare("average", average{});
  numbers.compare("maximum", maximum{});
  numbers.compare("scale", cohort::scale{.factor = -0.75});
  numbers.compare("scale_that_is_learned", cohort::scale{.learned = true});
  numbers.compare("subset", subset{.first = 1, .last = 3});
  numbers.compare("zero_padding", zero_padding{.sides = {1, 2, 0, 3}});
  numbers.compare("cropping", cropping{.sides = {1, 0, 2, 1}});
  numbers.compare("upsampling", upsampling{.factor = {2, 3}});
  numbers.compare("bilinear_upsampling", bilinear_upsampling{.factor = {3, 2}});
  numbers.compare("bilinear_upsampling_of_aligned_corners",
                  bilinear_upsampling{.factor = {2, 3}, .align_corners = true});
  numbers.compare("log_softmax", log_softmax{});
  numbers.compare("log_softmax_of_an_image", log_softmax{});
  numbers.compare("log_softmax_of_steps", log_softmax{});
  numbers.compare("group_norm", group_norm{.groups = 3, .epsilon = 0.01});
  numbers.compare("group_norm_of_steps", group_norm{.groups = 2});
  numbers.compare("instance_norm", group_norm{.groups = 3});
  numbers.compare("permute", permute{.order = {2, 0, 1}});
  numbers.compare("channel_shuffle", permute{.order = {1, 0, 2}, .view = {3, 2, 4}, .extents = {6, 2, 2}});
  numbers.compare("pixel_shuffle",
                  permute{.order = {0, 3, 1, 4, 2}, .view = {2, 2, 2, 2, 3}, .extents = {2, 4, 6}});
  numbers.compare("reshape", reshape{.extents = {3, 2, 2}});
  numbers.compare("flatten", flatten{});
  numbers.compare("embedding", embedding{.vocabulary = 5, .width = 2});
  numbers.compare("gelu_tanh", gelu_tanh{});
  numbers.compare("rms_norm", rms_norm{});
  numbers.compare("learned_positions", learned_positions{});
  numbers.compare("sinusoidal_positions", sinusoidal_positions{});
  numbers.expect_all_compared();
}

TEST(layers_that_broadcast, agree_with_numpy) {
  golden numbers("layers_broadcast.txt");
  numbers.compare("multiply_per_channel", multiply{});
  numbers.compare("multiply_three", multiply{});
  numbers.compare("add_per_channel", add{});
  numbers.compare("add_row_and_column", add{});
  numbers.compare("matmul", matmul{});
  numbers.compare("matmul_transpose_a", matmul{.transpose_a = true});
  numbers.compare("matmul_transpose_b", matmul{.transpose_b = true});
  numbers.compare("matmul_transpose_both", matmul{.transpose_a = true, .transpose_b = true});
  numbers.compare("matmul_of_repeated_matrices", matmul{});
  numbers.compare("matmul_of_repeated_transposed_matrices", matmul{.transpose_a = true, .transpose_b = true});
  numbers.expect_all_compared();
}

}  // namespace elementwise_golden_test
