// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/tensor_backend.hpp>
#include <cohort/plan/detail/folding.hpp>
#include <cohort/plan/detail/lowering.hpp>
#include <cohort/plan/parameter_store.hpp>
#include <optional>
#include <vector>

namespace cohort::detail {

/// Request to a backend for one step, with the lists that the request points to. Not copyable.
template <tensor_backend B>
struct step_request {
  using layout = typename B::layout;

  std::vector<shape> shapes;
  std::vector<layout> layouts;
  parameter_list specs;
  std::vector<double> fields;  // fields of a step with folded layers
  std::vector<std::optional<layout>> fixed_layouts;
  operation_request<B> request;

  /// `inputs`: layouts of the step's inputs. `wants`: which inputs need gradients.
  step_request(graph_view net, parameter_store<B> const& store, lowered_graph const& low,
               plan_step const& step, std::vector<layout> inputs, std::vector<char> wants)
      : layouts(std::move(inputs)), specs(net.parameters(step.node)) {
    for (int v : step.inputs) shapes.push_back(low.values[static_cast<std::size_t>(v)].dims);
    request.name = name_of(net, step);
    request.kind = &net.kind(step.node);
    request.fields = net.fields(step.node);
    request.output_shape = low.values[static_cast<std::size_t>(step.output)].dims;
    if (step.folded.empty()) {
      for (int p = 0; p < specs.count; ++p)
        fixed_layouts.push_back(store.fixed_layout(store.first_of(step.node) + p));
    } else {  // separate copies of folded weights and bias, in any layout
      specs = folded_parameters(specs, request.output_shape);
      fields = with_bias(*request.kind, request.fields);
      request.fields = fields.data();
      fixed_layouts.resize(static_cast<std::size_t>(specs.count));
    }
    if (step.activation >= 0) {
      request.activation = &net.kind(step.activation);
      request.activation_fields = net.fields(step.activation);
    }
    request.masked = net.input_mask(step.node) >= 0;
    request.sums = step.sum >= 0;
    request.input_shapes = shapes;
    request.inputs = layouts;
    request.wants_diff_input = std::move(wants);
    request.parameter_specs = {specs.specs.data(), static_cast<std::size_t>(specs.count)};
    request.parameters = fixed_layouts;
  }
  step_request(step_request const&) = delete;
  step_request& operator=(step_request const&) = delete;
};

}  // namespace cohort::detail
