// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/tensor_backend.hpp>
#include <cohort/plan/lowering.hpp>
#include <cohort/plan/recomputation.hpp>
#include <cstddef>
#include <vector>

namespace cohort::detail {

/// What matters of a step for what can be made again.
///
/// Units     `makes`, `workspace`: bytes; `workspace` only where backward reads it. `price`: bytes that one more forward counts for;
///           below 0: it runs once.
struct step_traffic {
  std::vector<int> reads{};           ///< by forward: values
  std::vector<int> reads_backward{};  ///< by backward: values
  int value = 0;                      ///< that it makes
  std::size_t makes = 0;
  std::size_t workspace = 0;
  double price = -1;
};

/// Which steps run forward once more in backward, and how many bytes less are kept for it.
struct recomputed_steps {
  std::vector<char> again{};  ///< of each step; none: no step
  std::size_t bytes_kept_less = 0;

  bool operator[](std::size_t step) const { return step < again.size() && again[step] != 0; }
};

/// Chooses what is kept and what is made again, so that bytes kept and the price of what runs again are least together: a
/// minimum cut. Each value has two nodes, `made` (in front of the cut: forward made it and nobody does again) and `read`
/// (behind it: backward needs it); between them is the pipe whose cut means that the value is kept.
///
///     beginning ─price→ made(v) ─bytes→ read(v) ─unlimited→ end       where backward reads v
///                       read(u) ─unlimited→ made(v)                    for each u from which v is made
///                       made(v) ─workspace→ end                        what v's step must keep beside, if it runs once
///
/// Source    Chen et al., 2016, for the idea; the cut is that of PyTorch's functorch, min_cut_rematerialization_partition.
recomputed_steps choose_recomputed(std::vector<step_traffic> const& steps, std::size_t values);

/// The same for a plan's steps, as the setting says.
template <tensor_backend B>
recomputed_steps choose_recomputed(graph_view net, lowered_graph const& low,
                                   std::vector<operation<B>> const& operations, B const& backend,
                                   recomputation const& how) {
  constexpr double bound_by_memory = 8;  // FLOPs a byte: where the roofs of today's processors meet
  std::vector<int> const block = rows_of_blocks(net, how);
  std::vector<step_traffic> all;
  std::vector<int> maker(low.values.size(), -1);
  for (std::size_t s = 0; s < low.steps.size(); ++s) {
    plan_step const& step = low.steps[s];
    kind const& what = net.kind(step.node);
    step_traffic one{.value = step.output, .makes = backend.bytes(operations[s].output)};
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
          one.reads_backward.push_back(step.inputs[static_cast<std::size_t>(o.index)]);
        if (o.role == operand_role::output) one.reads_backward.push_back(step.output);
        if (o.role == operand_role::workspace) one.workspace = backend.bytes(o.layout);
      }
    bool weights = false;
    parameter_list const list = net.parameters(step.node);
    for (int p = 0; p < list.count; ++p)
      weights = weights || list.specs[static_cast<std::size_t>(p)].role == parameter_role::weights;
    bool const once = what.role == layer_role::loss
                      || what.sums(net.fields(step.node), net.input_shapes(step.node)).forward > 0;
    if (!once && block[static_cast<std::size_t>(step.node)] >= 0)
      one.price = 0;
    else if (!once && how.cheap && !weights && flops <= bound_by_memory * moved)
      one.price = moved / recomputation::moved_for_a_byte;
    maker[static_cast<std::size_t>(step.output)] = static_cast<int>(s);
    for (int u : step.inputs) {  // what leaves a block is kept
      int const from = maker[static_cast<std::size_t>(u)];
      if (from < 0) continue;
      int const of = block[static_cast<std::size_t>(low.steps[static_cast<std::size_t>(from)].node)];
      if (of >= 0 && of != block[static_cast<std::size_t>(step.node)])
        all[static_cast<std::size_t>(from)].price = -1;
    }
    all.push_back(std::move(one));
  }
  return choose_recomputed(all, low.values.size());
}

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/plan/impl/recomputed_steps.ipp>
#endif
