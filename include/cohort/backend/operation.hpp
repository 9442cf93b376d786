// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/graph/node.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cohort {

/// Role of a kernel's argument in its layer.
///
/// Order     forward reads inputs, parameters and targets; it writes output, workspace and loss.
///           backward reads inputs, parameters, targets, output, workspace and diff_output; it writes
///           diff_input and diff_parameter.
/// Shapes    target, loss, scalars and mask have no layout: the argument is the object's address.
enum class operand_role : std::uint8_t {
  input,
  output,
  parameter,
  workspace,
  target,   ///< tensor_view of a loss's targets
  loss,     ///< loss_sum, written by a loss's forward
  scalars,  ///< step_scalars, read by losses and by layers with `reads_scalars` or `carries_state`
  mask,     ///< step_mask, read by layers with `reads_mask` whose input has a mask
  diff_output,
  diff_input,
  diff_parameter,
  scratch
};

/// Argument of a kernel, in the layout that the kernel requires. `index` is the index among the layer's
/// inputs or parameters.
template <class Layout>
struct operand {
  operand_role role;
  int index = 0;
  Layout layout{};
};

/// A kernel and its operands, in the order of the kernel's arguments.
///
/// `implementation`  name for tables and traces
/// `flops`           floating-point operations per call
/// Order             a backward kernel modifies diff_output only if its operands contain diff_output twice.
template <class Kernel, class Layout>
struct basic_invocation {
  Kernel kernel;
  std::vector<operand<Layout>> operands;
  std::string implementation;
  double flops = 0;

  /// Returns the number of arguments with this role.
  int count(operand_role role) const {
    int found = 0;
    for (operand<Layout> const& one : operands) found += one.role == role ? 1 : 0;
    return found;
  }
  /// Returns whether an argument has this role.
  bool has(operand_role role) const { return count(role) > 0; }
};

/// A plan's request to a backend to prepare one step: a layer and the operations fused into its kernel.
///
/// Shapes    inputs and output without the batch.
/// `masked`      the step's inputs have a mask.
/// `frozen`      the layer runs as at inference, also in training. Its backward pass treats running
///               statistics as constants, and nothing reads the gradients of its parameters.
/// `sums`        the step has one more input than the layer. This last input has the output's shape and is
///               added to the layer's result before the activation.
/// `parameters`  layouts that the parameter store has already fixed. The backend chooses the layout of a
///               parameter without a value here.
/// `candidate`   name of one of the backend's `candidates` for this request; "": the backend's fixed rule
///               selects the implementation.
template <class Layout>
struct basic_request {
  std::string name;
  cohort::kind const* kind = nullptr;
  double const* fields = nullptr;
  cohort::kind const* activation = nullptr;
  double const* activation_fields = nullptr;
  int batch = 1;
  bool training = true;
  bool masked = false;
  bool frozen = false;
  bool sums = false;
  std::span<shape const> input_shapes;
  shape output_shape;
  std::span<Layout const> inputs;
  std::vector<char> wants_diff_input;
  std::span<parameter_spec const> parameter_specs;
  std::span<std::optional<Layout> const> parameters;
  std::string candidate{};
};

/// Executable step: the layouts that the backend chose, and the kernels in execution order.
///
/// `passed_gradients`  indices of the inputs whose gradient equals diff_output, so that no kernel computes
///                     the gradient
/// `overwrites`  in-place: the output may use the memory of input `overwritten`, and the gradient of that
///               input may use the memory of diff_output.
template <class Kernel, class Layout>
struct basic_operation {
  Layout output;
  std::vector<Layout> parameters;
  std::size_t workspace_bytes = 0;
  bool overwrites = false;
  int overwritten = 0;
  std::vector<int> passed_gradients{};
  std::vector<basic_invocation<Kernel, Layout>> forward;
  std::vector<basic_invocation<Kernel, Layout>> backward;
};

/// A kernel of backend B and its operands. Backends with the same layout and kernel types share this type.
template <class B>
using invocation = basic_invocation<typename B::kernel, typename B::layout>;
/// Request to backend B to prepare a step.
template <class B>
using operation_request = basic_request<typename B::layout>;
/// A step as prepared by backend B.
template <class B>
using backend_operation = basic_operation<typename B::kernel, typename B::layout>;

}  // namespace cohort
