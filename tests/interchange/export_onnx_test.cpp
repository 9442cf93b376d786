// SPDX-License-Identifier: Apache-2.0
// covers: interchange/onnx_export_settings
#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>
#include <cohort/cohort.hpp>
#include <cohort/interchange/detail/onnx_model.hpp>
#include <cohort/interchange/export_onnx.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/layer/lstm.hpp>
#include <filesystem>
#include <sstream>

#include "../checkpoint/refusals.hpp"

namespace export_onnx_test {

using namespace cohort;

struct halve {
  static constexpr std::string_view kind_name = "halve";
  std::string_view name{};
  source_line at = source_line::here();
  static constexpr auto fields() { return field_list{}; }
  constexpr inference infer(std::span<shape const> inputs) const { return inputs[0]; }
  template <class T>
  void forward(host_arguments<T> const& a) const {
    for (std::size_t i = 0; i < a.elements_of_output(); ++i) a.output[i] = a.inputs[0][i] / 2;
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    for (std::size_t i = 0; i < a.elements_of_output(); ++i) a.diff_inputs[0][i] = a.diff_output[i] / 2;
  }
};

template <class Describe>
std::string exported(Describe describe, onnx_export_settings const& how = {}) {
  training run = trainer<reference<float>>(graph::build(describe));
  std::ostringstream to;
  export_onnx(run, to, how);
  return to.str();
}

auto const classifier = [](builder& b) {
  return b.input({1, 6, 6}, "pixels") | conv2d{.filters = 2, .kernel = 3} | max_pool{.window = 2} | relu{}
         | dropout{} | dense{.units = 3} | softmax_cross_entropy{.name = "class"};
};

TEST(export_onnx, derives_names_of_values_and_parameters_from_the_layers) {
  detail::onnx_model const made = detail::read_onnx_model(exported(classifier, {.batch = "rows"}), "a");
  EXPECT_EQ(made.ir_version, 8);
  ASSERT_EQ(made.opsets.size(), 1U);
  EXPECT_EQ(made.opsets[0].second, 17);
  EXPECT_EQ(made.producer, "cohort");
  ASSERT_EQ(made.inputs.size(), 1U);
  EXPECT_EQ(made.inputs[0].name, "pixels");
  ASSERT_EQ(made.inputs[0].dims.size(), 4U);
  EXPECT_EQ(made.inputs[0].dims[0].name, "rows");
  EXPECT_EQ(made.inputs[0].dims[3].value, 6);
  ASSERT_EQ(made.outputs.size(), 1U);
  EXPECT_EQ(made.outputs[0].name, "class");
  std::string ops, outputs, tensors;
  for (detail::onnx_node const& one : made.nodes) ops += one.op + ' ', outputs += one.outputs[0] + ' ';
  for (detail::onnx_tensor const& one : made.initializers) tensors += one.name + ' ';
  EXPECT_EQ(ops, "Conv MaxPool Relu Flatten Gemm Softmax ");
  EXPECT_EQ(outputs, "conv2d_1 max_pool_1 relu_1 dense_1/Flatten dense_1 class ");
  EXPECT_EQ(tensors, "conv2d_1.weights conv2d_1.bias dense_1.weights dense_1.bias ");
}

TEST(export_onnx, writes_the_same_bytes_to_a_file_and_to_a_stream) {
  std::string const path = testing::TempDir() + "export_onnx_test.onnx";
  training run = trainer<reference<float>>(graph::build(classifier));
  export_onnx(run, path);
  std::ostringstream to;
  export_onnx(run, to);
  EXPECT_EQ(io::read_text(path), to.str());
  std::filesystem::remove(path);
}

TEST(export_onnx, reports_a_layer_that_onnx_cannot_express_and_the_reason) {
  auto const refused = [](auto describe) { return refusal_of<graph_error>([&] { exported(describe); }); };
  EXPECT_EQ(
      refused([](builder& b) { return b.input({3}) | halve{.name = "mine"}; }),
      "the network cannot be exported to ONNX (layer mine of kind halve): ONNX has no operator for this kind "
      "of layer");
  EXPECT_EQ(
      refused([](builder& b) {
        return b.input({3, 2}) | lstm{.units = 2, .activation = recurrent_activation::hard_tanh};
      }),
      "the network cannot be exported to ONNX (layer lstm_1 of kind lstm): ONNX's operator has no function "
      "hard_tanh");
  EXPECT_EQ(
      refused([](builder& b) {
        return b.input({3}) | embedding{.vocabulary = 3, .width = 2, .mask_zero = true} | lstm{.units = 2};
      }),
      "the network cannot be exported to ONNX (layer lstm_1 of kind lstm): ONNX's operator takes sequence "
      "lengths, not masks. If padding (index 0 of the embedding, or the value of the padded_input) occurs "
      "only after a sequence's last step, set onnx_export_settings::padding_at_end");
}

TEST(export_onnx, reports_a_missing_folder) {
  training run = trainer<reference<float>>(graph::build(classifier));
  EXPECT_THROW(export_onnx(run, "/no/such/folder/a.onnx"), file_error);
}

}  // namespace export_onnx_test
