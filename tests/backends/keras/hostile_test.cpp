// SPDX-License-Identifier: Apache-2.0
// Small configurations that would need much time or memory, and numbers that overflow.
// covers: keras
#include <gtest/gtest.h>

#include "keras_models.hpp"

namespace keras_hostile_test {

using namespace cohort;
using namespace keras_models;

/// A model whose nested models have a depth of `depth`: each level calls the next one `count` times, so the
/// innermost layer is called count^depth times.
std::string repeated(int depth, int count, std::string const& class_name) {
  std::string child = layer_json("layer", class_name, ""), name = "layer";
  for (int i = 0; i < depth; ++i) {
    std::string const x = "x" + std::to_string(i);
    std::vector<std::string> from{x};
    for (int call = 0; call + 1 < count; ++call) from.push_back(name + '/' + std::to_string(call));
    // In the names of a model's outputs, files count the calls of a nested model from 1.
    std::string const last = std::to_string(i == 0 ? count - 1 : count);
    std::string const called =
        child.substr(0, child.size() - 1) + R"(, "inbound_nodes": )" + calls(from) + '}';
    std::string const outputs = "[[\"" + name + "\"," + last + ",0]]";
    name = "m" + std::to_string(i);
    child = R"({"class_name": "Functional", "config": {"name": ")" + name + R"(", "layers": [)"
            + input_json(x, "[null,4]") + ',' + called + R"(], "input_layers": [[")" + x
            + R"(",0,0]], "output_layers": )" + outputs + "}}";
  }
  return sequential({input_json("x", "[null,4]"), child});
}

TEST(hostile_keras_models, with_a_nested_model_without_config_are_refused) {
  EXPECT_EQ(config_refusal(R"({"class_name":"Sequential","config":{"layers":[
    {"class_name":"InputLayer","config":{"batch_shape":[null,4],"name":"x"}},{"class_name":"Sequential"}]}})"),
            "cannot read JSON (Keras configuration:2:78, $.config.layers[1]): expected a field \"config\", "
            "got no such "
            "field");
}

TEST(hostile_keras_models, with_too_many_calls_of_nested_models_are_refused) {
  EXPECT_EQ(from_keras_config(repeated(3, 2, "ReLU")).network().view().size(), 1 + 8);
  std::string const relu = config_refusal(repeated(5, 16, "ReLU"));
  EXPECT_NE(
      relu.find("the network has too many layers: those of a nested model are counted once for each call"),
      std::string::npos)
      << relu;
  EXPECT_NE(relu.find("expected at most 20000, got more"), std::string::npos) << relu;
  // Identity adds no layer to the network.
  std::string const identity = config_refusal(repeated(5, 16, "Identity"));
  EXPECT_NE(identity.find("the model is too large: nested models are counted once for each call"),
            std::string::npos)
      << identity;
  EXPECT_NE(identity.find("expected at most 200000 layers, calls and inputs, got more"), std::string::npos)
      << identity;
}

TEST(hostile_keras_models, with_too_large_flattened_images_are_refused) {
  EXPECT_EQ(
      config_refusal(sequential({input_json("x", "[null,32768,1024,16]"), layer_json("f", "Flatten", ""),
                                 layer_json("d", "Dense", R"("units": 1)")})),
      config_message(
          "the flattened images are too large, because their elements are in another order in Cohort",
          ", layer f",
          ": expected at most 2^26 elements of all flattened images together, got (32768, 1024, 16)"));
}

TEST(hostile_keras_models, with_too_large_extents_and_factors_are_refused) {
  std::string const image = input_json("x", "[null,8,8,4]"), steps = input_json("x", "[null,8,4]");
  auto const of = [&](std::string const& before, std::string const& class_name, std::string const& config) {
    return config_refusal(sequential({before, layer_json("l", class_name, config)}));
  };
  std::string const at = ", layer l";
  EXPECT_EQ(of(steps, "Conv1D",
               R"("filters": 1, "kernel_size": [4096], "dilation_rate": [1048576], "padding": "causal")"),
            config_message("the dilation is out of range", at,
                           ": expected 1 to 32767 along each axis, got (1048576)"));
  EXPECT_EQ(of(steps, "SeparableConv1D", R"("filters": 1, "kernel_size": [1048576])"),
            config_message("the kernel is out of range", at,
                           ": expected 1 to 4096 along each axis, got (1048576)"));
  EXPECT_EQ(of(image, "Conv2D", R"("filters": 1, "kernel_size": [1, 1], "strides": [1048576, 1])"),
            config_message("the stride is out of range", at,
                           ": expected 1 to 32767 along each axis, got (1048576, 1)"));
  std::string const wide = input_json("x", "[null,1,1,1048576]");
  for (char const* const name : {"DepthwiseConv2D", "SeparableConv2D"})
    EXPECT_EQ(of(wide, name, R"("filters": 1, "kernel_size": [1, 1], "depth_multiplier": 1048576)"),
              config_message("a tensor is too large", at,
                             ": expected at most 2^30 elements for an example, got 1099511627776"));
  EXPECT_EQ(of(input_json("x", "[null,1048576,1,1]"), "Conv2DTranspose",
               R"("filters": 1, "kernel_size": [4096, 1], "strides": [4096, 1])"),
            config_message("a tensor is too large", at,
                           ": expected at most 2^30 elements for an example, got 4294967296"));
  EXPECT_EQ(config_refusal(sequential({input_json("x", "[null,1048576,1,1]"),
                                       layer_json("u", "UpSampling2D", R"("size": [1024, 1])"),
                                       layer_json("l", "UpSampling2D", R"("size": [1024, 1])")})),
            config_message("a tensor is too large", at,
                           ": expected at most 2^30 elements for an example, got 1099511627776"));
  std::string const units = of(input_json("x", "[null,4]"), "Dense", R"("units": 1e300)");
  EXPECT_NE(units.find("expected a whole number of at most 1048576"), std::string::npos) << units;
  std::vector<std::string> layers{input_json("x", "[null,1024,1]"),
                                  layer_json("r", "UpSampling1D", R"("size": 1024)", calls({"x"})),
                                  layer_json("s", "UpSampling1D", R"("size": 1024)", calls({"r"}))};
  layers.push_back(
      layer_json("l", "Concatenate", R"("axis": 1)", R"([[["s",0,0,{}],["s",0,0,{}],["s",0,0,{}]]])"));
  EXPECT_EQ(config_refusal(functional(layers, R"([["x",0,0]])", R"([["l",0,0]])")),
            config_message("a tensor is too large", at,
                           ": expected at most 2^30 elements for an example, got 3221225472"));
}

}  // namespace keras_hostile_test
