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

/// What a kernel's argument is to its layer.
///
/// Order     forward reads inputs, parameters and targets; it writes output, workspace and loss.
///           backward reads these and diff_output; it writes diff_input and diff_parameter.
/// Shapes    target, loss and scalars have no layout: their argument is the address of the object.
enum class operand_role : std::uint8_t {
  input,
  output,
  parameter,
  workspace,
  target,   ///< tensor_view of a loss's targets
  loss,     ///< loss_sum, written by a loss's forward
  scalars,  ///< step_scalars, read by losses and by layers that say so
  diff_output,
  diff_input,
  diff_parameter,
  scratch
};

/// One argument of a kernel, in the layout that the kernel wants. `index` tells inputs and parameters apart.
template <class Layout>
struct operand {
  operand_role role;
  int index = 0;
  Layout layout{};
};

/// One kernel of a layer with its arguments in the kernel's order.
template <class Kernel, class Layout>
struct basic_invocation {
  Kernel kernel;
  std::vector<operand<Layout>> operands;
  std::string implementation;
  double flops = 0;

  bool has(operand_role role) const {
    for (operand<Layout> const& one : operands)
      if (one.role == role) return true;
    return false;
  }
};

/// One step of a plan, as a plan asks a backend for it: a layer with what is fused behind it.
///
/// Shapes    inputs and output without the batch.
/// `frozen`: the layer runs as at inference in training too, so that its backward takes running statistics for constants;
/// no gradient of its parameters is read.
/// `sums`: one input more than the layer has, the last one, of the output's shape, is added to what the layer makes, before the
/// activation.
/// `parameters` holds the layouts that the store has settled already, nothing where this request may choose.
/// `candidate`: one of the backend's `candidates` for this request; "": its fixed rule.
template <class Layout>
struct basic_request {
  std::string name;
  cohort::kind const* kind = nullptr;
  double const* fields = nullptr;
  cohort::kind const* activation = nullptr;
  double const* activation_fields = nullptr;
  int batch = 1;
  bool training = true;
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

/// A step made executable: the layouts that it settled, and its kernels in the order in which they run.
///
/// `overwrites`       output may lie where input `overwritten` lies, and that input's gradient where diff_output lies.
template <class Kernel, class Layout>
struct basic_operation {
  Layout output;
  std::vector<Layout> parameters;
  std::size_t workspace_bytes = 0;
  bool overwrites = false;
  int overwritten = 0;
  std::vector<basic_invocation<Kernel, Layout>> forward;
  std::vector<basic_invocation<Kernel, Layout>> backward;
};

/// The same for a backend B; backends with the same layouts and kernels share them.
template <class B>
using invocation = basic_invocation<typename B::kernel, typename B::layout>;
template <class B>
using operation_request = basic_request<typename B::layout>;
template <class B>
using operation = basic_operation<typename B::kernel, typename B::layout>;

}  // namespace cohort
