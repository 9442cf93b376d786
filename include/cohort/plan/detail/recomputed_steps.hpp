// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/tensor_backend.hpp>
#include <cohort/plan/detail/lowering.hpp>
#include <cohort/plan/recomputation.hpp>
#include <cstddef>
#include <vector>

namespace cohort::detail {

/// Memory traffic of a step, for the choice of the recomputed steps.
///
/// Units     `workspace_bytes`: 0 unless backward reads the workspace. `cost`: cost of one more forward, in
///           the unit of kept bytes; below 0: the step is never recomputed.
struct step_traffic {
  std::vector<int> reads{};           ///< values that forward reads
  std::vector<int> backward_reads{};  ///< values that backward reads
  int value = 0;                      ///< value that the step computes
  std::size_t output_bytes = 0;
  std::size_t workspace_bytes = 0;
  double cost = -1;
};

/// Steps whose forward runs once more in backward, and the bytes that this saves.
struct recomputed_steps {
  std::vector<char> recomputed{};  ///< per step; empty: no step is recomputed
  std::size_t bytes_saved = 0;

  bool operator[](std::size_t step) const { return step < recomputed.size() && recomputed[step] != 0; }
};

/// Chooses the values to keep and the steps to recompute, so that the bytes kept plus the cost of
/// recomputation are minimal: a minimum cut. Each value has two nodes. If forward computes the value and
/// backward does not, node `made` is on the source's side. If backward needs the value, node `read` is on the
/// sink's side. Cutting the edge between the two nodes means that the value is kept.
///
///     source ─cost→ made(v) ─bytes→ read(v) ─unlimited→ sink     if backward reads v
///                   read(u) ─unlimited→ made(v)                  for each u from which v is computed
///                   made(v) ─workspace→ sink                     workspace kept if v's step runs once
///
/// Source    idea: Chen et al., 2016; cut: min_cut_rematerialization_partition of PyTorch's functorch.
recomputed_steps choose_recomputed(std::vector<step_traffic> const& steps, std::size_t values);

/// Like the overload above, but for the steps of a plan.
template <tensor_backend B>
recomputed_steps choose_recomputed(graph_view net, lowered_graph const& low,
                                   std::vector<backend_operation<B>> const& operations, B const& backend,
                                   recomputation const& how) {
  constexpr double bound_by_memory = 8;  // FLOP per byte: ridge point of today's processors
  std::vector<int> const block = rows_of_blocks(net, how);
  std::vector<step_traffic> all;
  std::vector<int> producer(low.values.size(), -1);
  for (std::size_t s = 0; s < low.steps.size(); ++s) {
    plan_step const& step = low.steps[s];
    kind const& what = net.kind(step.node);
    step_traffic one{.value = step.output, .output_bytes = backend.bytes(operations[s].output)};
    double flops = 0, moved = 0;
    for (invocation<B> const& call : operations[s].forward) {
      flops += call.flops;
      moved += bytes_of_tensors(backend, call);
      for (auto const& o : call.operands)
        if (o.role == operand_role::input)
          one.reads.push_back(step.inputs[static_cast<std::size_t>(o.index)]);
    }
    for (invocation<B> const& call : operations[s].backward)
      for (auto const& o : call.operands) {
        if (o.role == operand_role::input)
          one.backward_reads.push_back(step.inputs[static_cast<std::size_t>(o.index)]);
        if (o.role == operand_role::output) one.backward_reads.push_back(step.output);
        if (o.role == operand_role::workspace) one.workspace_bytes = backend.bytes(o.layout);
      }
    bool weights = false;
    parameter_list const list = net.parameters(step.node);
    for (int p = 0; p < list.count; ++p)
      weights = weights || list.specs[static_cast<std::size_t>(p)].role == parameter_role::weights;
    bool const runs_once = what.role == layer_role::loss
                           || what.sums(net.fields(step.node), net.input_shapes(step.node)).forward > 0;
    if (!runs_once && block[static_cast<std::size_t>(step.node)] >= 0)
      one.cost = 0;
    else if (!runs_once && how.cheap && !weights && flops <= bound_by_memory * moved)
      one.cost = moved / recomputation::max_bytes_moved_per_byte_saved;
    producer[static_cast<std::size_t>(step.output)] = static_cast<int>(s);
    for (int u : step.inputs) {  // results that other blocks read are kept
      int const from = producer[static_cast<std::size_t>(u)];
      if (from < 0) continue;
      int const from_block = block[static_cast<std::size_t>(low.steps[static_cast<std::size_t>(from)].node)];
      if (from_block >= 0 && from_block != block[static_cast<std::size_t>(step.node)])
        all[static_cast<std::size_t>(from)].cost = -1;
    }
    all.push_back(std::move(one));
  }
  return choose_recomputed(all, low.values.size());
}

}  // namespace cohort::detail
