// SPDX-License-Identifier: Apache-2.0
// alone: it replaces operator new
// The work of the readers of untrusted models, counted in allocations: no small file causes much of it.
#include "../plan/counted_new.hpp"

#include <gtest/gtest.h>
#include <cohort/caffe/import_caffe.hpp>
#include <cohort/detail/unique_names.hpp>
#include <cohort/interchange/detail/deeplearning4j_translation.hpp>
#include <cohort/io/json.hpp>
#include <string>

#include "../checkpoint/refusals.hpp"

namespace import_work_test {

using namespace cohort;

/// Number of allocations of a call.
template <class Call>
long work_of(Call const& call) {
  allocations = 0;
  counting = true;
  call();
  counting = false;
  return allocations;
}

/// Expects that the work of twice the number of layers is about twice the work.
template <class Import>
void expect_linear(Import const& import) {
  if (!counts_allocations) GTEST_SKIP() << "the sanitizer has its own operator new";
  long const half = work_of([&] { import(600); }), whole = work_of([&] { import(1200); });
  EXPECT_GT(half, 600);
  EXPECT_LT(static_cast<double>(whole), 2.3 * static_cast<double>(half)) << half << " and " << whole;
}

std::string const long_name = "a name that is longer than the short strings of all libraries";

TEST(import_work, unique_names_have_numbers_that_are_not_used) {
  detail::unique_names names('_');
  EXPECT_EQ(names.add("a"), "a");
  EXPECT_EQ(names.add("a_3"), "a_3");
  EXPECT_EQ(names.add("a"), "a_2");
  EXPECT_EQ(names.add("a"), "a_4");
  EXPECT_EQ(names.add("a_2"), "a_2_2");
  EXPECT_TRUE(names.contains("a_4"));
  EXPECT_FALSE(names.contains("a_5"));
}

TEST(import_work, names_of_one_base_are_linear) {
  expect_linear([](int count) {
    detail::unique_names names('_');
    for (int n = 0; n < count; ++n) names.add(long_name);
  });
}

TEST(import_work, caffe_layers_of_one_name_are_linear) {
  expect_linear([](int count) {
    std::string text = "input: 'data' input_shape { dim: 1 dim: 4 }";
    for (int n = 0; n < count; ++n)
      text += " layer { name: '" + long_name + "' type: 'TanH' bottom: '" + (n == 0 ? "data" : "x")
              + "' top: 'x' }";
    EXPECT_EQ(import_caffe(parse_prototxt(text, "net"), "").model.network().view().size(), count + 1);
  });
}

TEST(import_work, missing_messages_of_a_prototxt_need_no_memory) {
  prototxt_message const message = parse_prototxt("a: 1", long_name);
  if (!counts_allocations) GTEST_SKIP() << "the sanitizer has its own operator new";
  EXPECT_EQ(work_of([&] { EXPECT_FALSE(message.message("b").has("a")); }), 0);
}

TEST(import_work, deeplearning4j_layers_of_one_name_are_linear) {
  expect_linear([](int count) {
    std::string text = R"({"confs": [)";
    for (int n = 0; n < count; ++n)
      text += std::string(n > 0 ? "," : "") + R"({"layer": {"@class": "ActivationLayer", "layerName": ")"
              + long_name + R"(", "activationFn": {"@class": "ActivationTanH"}}})";
    auto const document = io::parse_json(text + "]}");
    detail::deeplearning4j_translation translation("file", {.inputs = {{"input", {4}}}, .training = false});
    translation.translate(document.root());
  });
}

// 4,096 extents are tried.
TEST(import_work, deeplearning4j_layers_are_read_once_to_find_the_size_of_images) {
  if (!counts_allocations) GTEST_SKIP() << "the sanitizer has its own operator new";
  auto const document = io::parse_json(R"({"confs": [
    {"layer": {"@class": "ConvolutionLayer", "nin": 3, "nout": 5, "kernelSize": [3, 2], "stride": [1, 1],
      "padding": [0, 0], "activationFn": {"@class": "ActivationTanH"}}},
    {"layer": {"@class": "DenseLayer", "nin": 1620, "nout": 2, "activationFn": {"@class": "ActivationTanH"}}}],
    "inputPreProcessors": {"1": {"cnnToFeedForward": {"inputHeight": 18, "inputWidth": 18, "numChannels": 5}}}})");
  long const work = work_of([&] {
    detail::deeplearning4j_translation translation("file", {.training = false});
    translation.translate(document.root());
  });
  EXPECT_LT(work, 2000);
}

// 256 inputs, each with a path of 1,024 vertices. A search of all lists of inputs for the reader of each
// vertex would compare 8·10^10 names.
TEST(import_work, deeplearning4j_readers_of_vertices_are_found_without_a_search) {
  constexpr int inputs = 256, path = 1024, others = 300'000;
  std::string names, vertices, lists;
  for (int n = 0; n < inputs; ++n)
    names += (n > 0 ? R"(", ")" : "") + std::string("input") + std::to_string(n);
  for (int n = 0; n < path; ++n) {
    std::string const vertex = R"("vertex)" + std::to_string(n) + R"(": )";
    vertices += (n > 0 ? "," : "") + vertex + R"({"@class": "ElementWiseVertex", "op": "Add"})";
    lists +=
        (n > 0 ? "," : "") + vertex + R"([")" + (n > 0 ? "vertex" + std::to_string(n - 1) : names) + R"("])";
  }
  for (int n = 0; n < others; ++n)
    lists += R"(,"other)" + std::to_string(n) + R"(": ["source)" + std::to_string(n) + R"("])";
  auto const document = io::parse_json(
      R"({"networkInputs": [")" + names + R"("], "networkOutputs": ["input0"], "topologicalOrderStr": [")"
      + names + R"("], "vertices": {)" + vertices + R"(}, "vertexInputs": {)" + lists + "}}");
  deeplearning4j_settings settings{.training = false};
  for (int n = 0; n < inputs; ++n) settings.inputs.push_back({"input" + std::to_string(n), {4}});
  detail::deeplearning4j_translation translation("file", settings);
  translation.translate(document.root());
  EXPECT_EQ(translation.parameters(), 0U);
}

TEST(import_work, deeplearning4j_graphs_have_at_most_256_inputs) {
  std::string names, sources;
  for (int n = 0; n < 257; ++n) names += (n > 0 ? R"(", ")" : "") + std::to_string(n);
  auto const document =
      io::parse_json(R"({"networkInputs": [")" + names
                     + R"("], "networkOutputs": ["v"], "vertices": {}, "vertexInputs": {}})");
  std::string const message = refusal_of<data_error>([&] {
    detail::deeplearning4j_translation translation("file", {});
    translation.translate(document.root());
  });
  EXPECT_NE(message.find("expected at most 256 names, got an array"), std::string::npos) << message;
}

}  // namespace import_work_test
