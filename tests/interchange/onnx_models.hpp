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
inline std::string refused(onnx_model const& model) {
  return refusal_of<graph_error>([&] { imported(write_onnx_model(model)); });
}
/// The message about a node.
inline std::string message(std::string const& name, std::string const& op, std::string const& reason) {
  return "the ONNX network cannot be imported (a.onnx, node \"" + name + "\" of operator \"" + op
         + "\"): " + reason;
}
inline std::string kinds_of(onnx_model const& model) {
  imported_model const made = imported(write_onnx_model(model));
  graph_view const net = made.network();
  std::string kinds;
  for (int id = 0; id < net.size(); ++id) kinds += std::string(net.kind(id).name) + ' ';
  return kinds;
}

}  // namespace onnx_models
