// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/host_call.hpp>
#include <cohort/backend/operation.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace cohort::detail {

/// Adapts a host_kernel's forward or backward to a host_function: stores each argument in the member of
/// host_arguments that belongs to the argument's role.
template <class T>
class layer_on_host {
 public:
  using pass = void (*)(double const*, host_arguments<T> const&);

  layer_on_host(pass run, std::vector<double> fields, host_arguments<T> const& fixed,
                std::vector<shape> inputs, std::vector<std::pair<operand_role, int>> roles)
      : run_(run),
        fields_(std::move(fields)),
        fixed_(fixed),
        inputs_(std::move(inputs)),
        roles_(std::move(roles)) {}

  void operator()(std::span<void* const> a) const {
    host_arguments<T> call = fixed_;
    T* inputs[max_inputs] = {};
    T* diff_inputs[max_inputs] = {};
    T* parameters[max_parameters] = {};
    T* diff_parameters[max_parameters] = {};
    call.input_shapes = inputs_;
    call.inputs = inputs;
    call.parameters = parameters;
    call.diff_inputs = diff_inputs;
    call.diff_parameters = diff_parameters;
    for (std::size_t i = 0; i < roles_.size(); ++i) {
      auto const [role, index] = roles_[i];
      T* const at = static_cast<T*>(a[i]);
      switch (role) {
        case operand_role::input:
          inputs[index] = at;
          break;
        case operand_role::output:
          call.output = at;
          break;
        case operand_role::parameter:
          parameters[index] = at;
          break;
        case operand_role::workspace:
          call.workspace = at;
          break;
        case operand_role::scalars:
          call.scalars = static_cast<step_scalars const*>(a[i]);
          break;
        case operand_role::mask:
          call.mask = static_cast<step_mask const*>(a[i]);
          break;
        case operand_role::target:
          call.target = static_cast<tensor_view const*>(a[i]);
          break;
        case operand_role::loss:
          call.loss = static_cast<loss_sum*>(a[i]);
          break;
        case operand_role::diff_output:
          call.diff_output = at;
          break;
        case operand_role::diff_input:
          diff_inputs[index] = at;
          break;
        case operand_role::diff_parameter:
          diff_parameters[index] = at;
          break;
        case operand_role::scratch:
          break;
      }
    }
    run_(fields_.data(), call);
  }

  static constexpr std::size_t max_inputs = 64;
  static constexpr std::size_t max_parameters = std::tuple_size_v<decltype(parameter_list::specs)>;

 private:
  pass run_;
  std::vector<double> fields_;
  host_arguments<T> fixed_;
  std::vector<shape> inputs_;
  std::vector<std::pair<operand_role, int>> roles_;
};

/// Prepares a layer whose kernels run on the host. All tensors are dense row-major.
///
/// `kernel`  the kernels that the layer defines, or the backend's kernels for the layer
///
/// Errors    backend_error if the layer has more inputs than `layer_on_host::max_inputs`.
template <class B>
backend_operation<B> prepare_on_host(B const& backend, operation_request<B> const& request,
                                     host_kernel<typename B::scalar> const& kernel,
                                     std::string const& implementation) {
  using T = typename B::scalar;
  using layout = typename B::layout;
  using enum operand_role;
  if (request.input_shapes.size() > layer_on_host<T>::max_inputs)
    throw backend_error({.what = "a layer has too many inputs for a kernel on the host",
                         .where = request.name,
                         .expected = {"at most ", layer_on_host<T>::max_inputs, " inputs"},
                         .got = {request.input_shapes.size(), " inputs"}});
  kind const& what = *request.kind;
  bool const is_loss = what.role == layer_role::loss;
  std::vector<double> const fields(request.fields, request.fields + what.slots);
  std::vector<shape> const inputs(request.input_shapes.begin(), request.input_shapes.end());

  backend_operation<B> made;
  std::vector<operand<layout>> operands;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    operands.push_back({input, static_cast<int>(i), backend.plain(inputs[i].batched(request.batch))});
  made.output = backend.plain(request.output_shape.batched(request.batch));
  operands.push_back({output, 0, made.output});
  for (parameter_spec const& spec : request.parameter_specs) {
    made.parameters.push_back(backend.plain(spec.dims));
    operands.push_back({parameter, static_cast<int>(made.parameters.size()) - 1, made.parameters.back()});
  }
  if (request.masked && what.reads_mask) operands.push_back({mask, 0, {}});
  if (!request.training && what.carries_state) operands.push_back({scalars, 0, {}});
  if (request.training) {
    if (auto const elements = what.workspace(request.fields, inputs, request.batch); elements > 0)
      operands.push_back({workspace, 0, backend.plain(shape{static_cast<int>(elements)})});
    if (what.reads_scalars) operands.push_back({scalars, 0, {}});
    if (is_loss) operands.push_back({target, 0, {}});
    if (is_loss) operands.push_back({loss, 0, {}});
  }
  host_arguments<T> fixed;
  fixed.batch = request.batch;
  fixed.training = request.training && !request.frozen;
  fixed.layer = purpose_of("layer", request.name);
  fixed.output_shape = request.output_shape;
  auto const pass = [&](auto run) {
    std::vector<std::pair<operand_role, int>> roles;
    for (auto const& one : operands) roles.emplace_back(one.role, one.index);
    return host_function(layer_on_host<T>(run, fields, fixed, inputs, std::move(roles)));
  };
  double const flops = what.flops(request.fields, inputs) * request.batch;
  made.overwrites = what.in_place;
  made.forward.push_back({pass(kernel.forward), operands, implementation, flops});
  if (!request.training) return made;
  if (what.in_place) operands.erase(operands.begin());
  if (is_loss)
    operands.pop_back();  // backward does not access the loss
  else
    operands.push_back({diff_output, 0, made.output});
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (request.wants_diff_input[i])
      operands.push_back({diff_input, static_cast<int>(i), backend.plain(inputs[i].batched(request.batch))});
  for (std::size_t p = 0; p < made.parameters.size(); ++p)
    operands.push_back({diff_parameter, static_cast<int>(p), made.parameters[p]});
  made.backward.push_back({pass(kernel.backward), operands, implementation, 2 * flops});
  return made;
}

}  // namespace cohort::detail
