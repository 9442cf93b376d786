// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/interchange/detail/onnx_model.hpp>
#include <cohort/interchange/import_onnx.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../checkpoint/refusals.hpp"

/// Small ONNX graphs as test data.
namespace onnx_models {

using namespace cohort;
using detail::onnx_attribute;
using detail::onnx_model;
using detail::onnx_tensor;
using detail::onnx_type;

inline imported_model imported(std::string const& bytes) {
  return import_onnx(std::as_bytes(std::span(bytes)), "a.onnx");
}
inline detail::onnx_node op(std::string name, std::vector<std::string> inputs,
                            std::vector<std::string> outputs, std::vector<onnx_attribute> attributes = {}) {
  return {std::move(name), std::move(inputs), std::move(outputs), std::move(attributes), "", ""};
}
inline onnx_attribute list(std::string name, std::vector<std::int64_t> values) {
  return {.name = std::move(name), .type = onnx_attribute::integers, .ints = std::move(values)};
}
inline onnx_attribute whole(std::string name, std::int64_t value) {
  return {.name = std::move(name), .type = onnx_attribute::integer, .i = value};
}
/// A graph from input x, N×extents, to output y.
inline onnx_model model_of(std::vector<std::int64_t> const& x, std::vector<detail::onnx_node> nodes,
                           std::vector<onnx_tensor> constants = {}, std::int64_t set = 17) {
  onnx_model made;
  made.opsets = {{"", set}};
  made.nodes = std::move(nodes);
  made.initializers = std::move(constants);
  made.inputs.push_back({"x", onnx_type::f32, true, {{-1, "N"}}});
  for (std::int64_t const one : x) made.inputs[0].dims.push_back({one, {}});
  made.outputs.push_back({"y", onnx_type::f32, false, {}});
  return made;
}
/// Text of the error that an import throws; empty if it throws nothing. Checks that the error has all parts:
/// the fault, the place, what was expected, what was found, and a remedy.
inline std::string refused(onnx_model const& model) {
  try {
    imported(write_onnx_model(model));
  } catch (graph_error const& why) {
    auto const& [what, where, expected, got] = why.why();
    std::size_t const remedy = got.find("; ");
    bool const is_whole = what.starts_with("cannot import the ONNX network: ") && where.starts_with("a.onnx")
                          && !expected.empty() && remedy != 0 && remedy != std::string::npos
                          && remedy + 2 < got.size();
    return is_whole ? why.what() : "a part is missing: " + std::string(why.what());
  }
  return {};
}
inline std::string const check = "check the file by onnx.checker.check_model, and export the model again",
                         replace =
                             "replace this part of the model before the export; docs/onnx.md lists what is "
                             "imported",
                         fold = "export the model with constant parameters, or compute constants by onnxsim",
                         batch_first = "export the model with the batch as the first axis of each value",
                         reduce = "export a smaller model, or divide it into several files",
                         dynamic =
                             "export the model with a fixed batch or by torch.onnx.export(dynamo=True), or "
                             "fold its shapes by onnxsim";
/// The message about a place of the file.
inline std::string message_at(std::string const& where, std::string const& what, std::string const& expected,
                              std::string const& got, std::string const& remedy) {
  return "cannot import the ONNX network: " + what + " (a.onnx" + where + "): expected " + expected + ", got "
         + got + "; " + remedy;
}
/// The message about a node.
inline std::string message(int node, std::string const& name, std::string const& op, std::string const& what,
                           std::string const& expected, std::string const& got, std::string const& remedy) {
  return message_at(", node " + std::to_string(node) + " \"" + name + "\" of operator \"" + op + '"', what,
                    expected, got, remedy);
}
inline std::string kinds_of(onnx_model const& model) {
  imported_model const made = imported(write_onnx_model(model));
  graph_view const net = made.network();
  std::string kinds;
  for (int id = 0; id < net.size(); ++id) kinds += std::string(net.kind(id).name) + ' ';
  return kinds;
}

}  // namespace onnx_models
