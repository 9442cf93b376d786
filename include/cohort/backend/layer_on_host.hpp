// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/host_call.hpp>
#include <cohort/backend/operation.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace cohort::detail {

/// Runs a host_kernel's forward or backward on one call's arguments.
template <class T>
class layer_on_host {
 public:
  using pass = void (*)(double const*, host_arguments<T> const&);

  layer_on_host(pass run, std::vector<double> fields, int batch, std::vector<shape> inputs, shape output,
                std::vector<char> wants_diff_input, int parameters)
      : run_(run),
        fields_(std::move(fields)),
        batch_(batch),
        inputs_(std::move(inputs)),
        output_(output),
        wants_(std::move(wants_diff_input)),
        parameters_(parameters) {}

  /// Order     inputs, output, parameters; backward: then diff_output, the wanted diff_inputs, diff_parameters.
  void operator()(std::span<void* const> a) const {
    std::size_t const n = inputs_.size(), p = static_cast<std::size_t>(parameters_);
    host_arguments<T> call;
    call.batch = batch_;
    call.input_shapes = inputs_;
    call.output_shape = output_;
    T* at[3 + 2 * max_inputs + 2 * std::tuple_size_v<decltype(parameter_list::specs)>] = {};
    for (std::size_t i = 0; i < a.size(); ++i) at[i] = static_cast<T*>(a[i]);
    call.inputs = at;
    call.output = at[n];
    call.parameters = at + n + 1;
    T* diff_inputs[max_inputs] = {};
    if (a.size() > n + 1 + p) {
      std::size_t next = n + 2 + p;
      call.diff_output = at[next - 1];
      for (std::size_t i = 0; i < n; ++i)
        if (wants_[i]) diff_inputs[i] = at[next++];
      call.diff_inputs = diff_inputs;
      call.diff_parameters = at + next;
    }
    run_(fields_.data(), call);
  }

  static constexpr std::size_t max_inputs = 64;

 private:
  pass run_;
  std::vector<double> fields_;
  int batch_;
  std::vector<shape> inputs_;
  shape output_;
  std::vector<char> wants_;
  int parameters_;
};

/// The kernels that a layer brings, or that a backend names for it, on plain tensors.
///
/// Errors    backend_error if the layer has more inputs than `layer_on_host::max_inputs`.
template <class B>
operation<B> prepare_on_host(B const& backend, operation_request<B> const& request,
                             host_kernel<typename B::scalar> const& kernel,
                             std::string const& implementation) {
  using T = typename B::scalar;
  using layout = typename B::layout;
  if (request.input_shapes.size() > layer_on_host<T>::max_inputs)
    throw backend_error({.what = "a layer has too many inputs for kernels on the processor",
                         .where = request.name,
                         .expected = {"at most ", layer_on_host<T>::max_inputs},
                         .got = {request.input_shapes.size()}});
  operation<B> made;
  std::vector<operand<layout>> operands;
  for (std::size_t i = 0; i < request.input_shapes.size(); ++i)
    operands.push_back({operand_role::input, static_cast<int>(i),
                        backend.plain(request.input_shapes[i].batched(request.batch))});
  made.output = backend.plain(request.output_shape.batched(request.batch));
  operands.push_back({operand_role::output, 0, made.output});
  for (parameter_spec const& spec : request.parameter_specs) {
    made.parameters.push_back(backend.plain(spec.dims));
    operands.push_back(
        {operand_role::parameter, static_cast<int>(made.parameters.size()) - 1, made.parameters.back()});
  }
  std::vector<double> const fields(request.fields, request.fields + request.kind->slots);
  std::vector<shape> const inputs(request.input_shapes.begin(), request.input_shapes.end());
  std::vector<char> const& wants = request.wants_diff_input;
  int const parameters = static_cast<int>(made.parameters.size());
  double const flops = request.kind->flops(request.fields, request.input_shapes) * request.batch;
  auto const pass = [&](auto run) {
    return host_function(
        layer_on_host<T>(run, fields, request.batch, inputs, request.output_shape, wants, parameters));
  };
  made.forward.push_back({pass(kernel.forward), operands, implementation, flops});
  if (!request.training) return made;
  operands.push_back({operand_role::diff_output, 0, made.output});
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (wants[i]) operands.push_back({operand_role::diff_input, static_cast<int>(i), operands[i].layout});
  for (int p = 0; p < parameters; ++p)
    operands.push_back({operand_role::diff_parameter, p, made.parameters[static_cast<std::size_t>(p)]});
  made.backward.push_back({pass(kernel.backward), operands, implementation, 2 * flops});
  return made;
}

}  // namespace cohort::detail
