// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/plan/batch_statistics.hpp>
#include <cohort/plan/detail/command.hpp>
#include <cohort/plan/detail/in_place.hpp>
#include <cohort/plan/detail/plan_rows.hpp>
#include <cohort/plan/detail/recomputed_steps.hpp>
#include <cohort/plan/detail/step_autotuner.hpp>
#include <cohort/plan/detail/step_request.hpp>
#include <cohort/plan/parameter_store.hpp>
#include <cohort/plan/plan_settings.hpp>
#include <cohort/plan/tuning.hpp>
#include <optional>
#include <string>
#include <vector>

namespace cohort::detail {

/// Compiles steps to commands: requests kernels from the backend, inserts reorders where layouts differ, and
/// sums gradients of values with several consumers. Determines the lifetime of each memory slot.
template <tensor_backend B>
class compiler {
 public:
  using layout = typename B::layout;

  compiler(graph_view net, parameter_store<B>& store, plan_settings const& settings)
      : net_(net),
        store_(store),
        backend_(store.backend()),
        batch_(settings.batch),
        training_(settings.training),
        output_gradients_(settings.training && settings.output_gradients),
        input_gradients_(settings.training && settings.input_gradients),
        tune_(autotuner_of<B>(settings)) {
    low_ = lower(
        net, [&](kind const& a, kind const& b) { return backend_.fuses(a, b, training_); }, settings.outputs,
        !training_);
    prepare_steps();
    store_.allocate();
    if (training_ && settings.recompute.any())
      recomputed_ = choose_recomputed(net_, low_, operations_, backend_, settings.recompute);
    write_in_place(low_, operations_, values_, made_.slots, recomputed_);
    for (std::size_t s = 0; s < low_.steps.size(); ++s)
      emit_forward(static_cast<int>(s), made_.forward, plan_pass::forward);
    if (!training_ || output_gradients_) emit_outputs();
    if (training_) emit_backward();
    if (input_gradients_) emit_input_gradients();
    made_.arena_bytes = assign_offsets(made_.slots);
    made_.saved_gradient_bytes = largest_gradient();
    made_.bytes_saved = recomputed_.bytes_saved;
  }

  program<B> release_program() { return std::move(made_); }
  std::vector<plan_row> release_rows() { return std::move(rows_.rows); }
  lowered_graph const& lowered() const { return low_; }
  /// Values of the outputs that the plan has: with output_gradients, those that are not losses.
  std::vector<int> output_values() const {
    std::vector<int> kept = low_.output_values;
    if (output_gradients_) std::erase_if(kept, [&](int v) { return is_loss(v); });
    return kept;
  }

 private:
  using stored = stored_value<layout>;

  // ---- layouts and kernels -------------------------------------------------------------------------------

  void prepare_steps() {
    needs_gradient_.assign(low_.values.size(), false);
    for (std::size_t v = 0; v < low_.values.size(); ++v) values_.push_back(std::nullopt);
    for (std::size_t i = 0; i < low_.batch_values.size(); ++i) {
      auto const v = static_cast<std::size_t>(low_.batch_values[i]);
      values_[v] = stored{
          {place::input, static_cast<int>(i)}, backend_.plain(low_.values[v].dims.batched(batch_)), {}};
      needs_gradient_[v] = input_gradients_;
    }
    made_.masks = masks_of(net_);
    int loss = 0;
    producer_.assign(low_.values.size(), -1);
    for (plan_step const& step : low_.steps) {
      producer_[static_cast<std::size_t>(step.output)] = static_cast<int>(operations_.size());
      operations_.push_back(prepare(step));
      loss_of_.push_back(net_.kind(step.node).role == layer_role::loss ? loss++ : -1);
      if (loss_of_.back() >= 0) made_.targets.push_back(net_.target(step.node));
      values_[static_cast<std::size_t>(step.output)] =
          stored{new_slot(operations_.back().output), operations_.back().output, {}};
    }
    if (training_ && loss == 0 && !output_gradients_)
      throw graph_error({.what = "this network cannot be trained: it has no loss layer",
                         .expected = "a loss, for example `| softmax_cross_entropy{}`",
                         .got = "outputs only"});
  }

  backend_operation<B> prepare(plan_step const& step) {
    kind const& what = net_.kind(step.node);
    if (!backend_.supports(what))
      throw backend_error({.what = {"the backend ", B::name, " has no kernels for ", what.name},
                           .where = name_of(net_, step)});
    std::vector<layout> layouts;
    std::vector<char> wants;
    bool needs = false;
    for (int v : step.inputs) {
      layouts.push_back(values_[static_cast<std::size_t>(v)]->layout);
      wants.push_back(training_ && needs_gradient_[static_cast<std::size_t>(v)]);
      needs = needs || wants.back() != 0;
    }
    bool const frozen = is_frozen(step);
    step_request<B> asked(net_, store_, low_, step, std::move(layouts), std::move(wants));
    asked.request.batch = batch_;
    asked.request.training = training_ && (needs || !frozen);
    asked.request.frozen = frozen;
    backend_operation<B> made =
        tune_ ? tune_->prepare(backend_, asked.request) : backend_.prepare(asked.request);
    int const parameters = net_.parameters(step.node).count;
    for (int p = 0; p < parameters; ++p)
      store_.fix_layout(parameter_of(step, p), made.parameters[static_cast<std::size_t>(p)]);
    needs_gradient_[static_cast<std::size_t>(step.output)] =
        training_ && (needs || (parameters > 0 && !frozen));
    return made;
  }

  /// Returns the index of a step's parameter in the store's table.
  int parameter_of(plan_step const& step, int index) const { return store_.first_of(step.node) + index; }
  /// Calls visit(bucket) for each parameter gradient that a step computes.
  template <class Visit>
  void each_gradient(std::size_t s, Visit visit) const {
    plan_step const& step = low_.steps[s];
    int const count = is_frozen(step) ? 0 : static_cast<int>(operations_[s].parameters.size());
    for (int p = 0; p < count; ++p)
      visit(store_.table()[static_cast<std::size_t>(parameter_of(step, p))].bucket);
  }
  /// Returns whether a step that is a loss computes value v.
  bool is_loss(int v) const {
    int const step = producer_[static_cast<std::size_t>(v)];
    return step >= 0 && loss_of_[static_cast<std::size_t>(step)] >= 0;
  }
  bool is_frozen(plan_step const& step) const {
    auto const first = static_cast<std::size_t>(store_.first_of(step.node));
    return first < store_.table().size() && store_.table()[first].frozen;
  }

  // ---- memory --------------------------------------------------------------------------------------------

  address new_slot(layout const& wanted) {
    arena_slot slot;
    slot.bytes = backend_.bytes(wanted);
    made_.slots.push_back(slot);
    return {place::arena, static_cast<int>(made_.slots.size()) - 1};
  }

  // ---- commands ------------------------------------------------------------------------------------------

  void emit(std::vector<command<B>>& to, typename B::kernel kernel, std::vector<address> arguments, int row) {
    for (address const& a : arguments)
      if (a.where == place::arena) made_.slots[static_cast<std::size_t>(a.index)].used(clock_);
    ++clock_;
    to.push_back({std::move(kernel), std::move(arguments), row});
  }

  /// Returns the address of a value in layout `wanted`. Emits a reorder if no copy has this layout yet.
  address in_layout(stored& value, layout const& wanted, std::vector<command<B>>& to, std::string const& step,
                    plan_pass p, shape const& dims) {
    if (value.layout == wanted) return value.at;
    for (auto const& [other, at] : value.copies)
      if (other == wanted) return at;
    address const at = new_slot(wanted);
    emit(to, backend_.reorder(value.layout, wanted), {value.at, at},
         rows_.add_move(backend_, step, p, dims, wanted, false));
    value.copies.emplace_back(wanted, at);
    return at;
  }

  /// Address of an operand that is not a gradient.
  address operand_address(int s, operand<layout> const& o, std::vector<command<B>>& to, plan_pass p) {
    plan_step const& step = low_.steps[static_cast<std::size_t>(s)];
    std::string const name = name_of(net_, step);
    auto const value = [&](int v) {
      if (p == plan_pass::backward) emit_recomputation(producer_[static_cast<std::size_t>(v)]);
      return in_layout(*values_[static_cast<std::size_t>(v)], o.layout, to, name, p,
                       low_.values[static_cast<std::size_t>(v)].dims.batched(batch_));
    };
    switch (o.role) {
      case operand_role::input:
        return value(step.inputs[static_cast<std::size_t>(o.index)]);
      case operand_role::output:
        return value(step.output);
      case operand_role::parameter: {
        if (!step.folded.empty())
          return {place::copy, store_.folded_copy(folding_of(net_, store_, step), o.index, o.layout)};
        int const parameter = parameter_of(step, o.index);
        if (*store_.fixed_layout(parameter) == o.layout)
          return {place::parameter, store_.read_by_kernel(parameter)};
        return {place::copy, store_.copy(parameter, o.layout, training_)};
      }
      case operand_role::workspace:
        if (p == plan_pass::backward) emit_recomputation(s);
        if (workspaces_.size() <= static_cast<std::size_t>(s)) workspaces_.resize(low_.steps.size());
        if (!workspaces_[static_cast<std::size_t>(s)])
          workspaces_[static_cast<std::size_t>(s)] = new_slot(o.layout);
        return *workspaces_[static_cast<std::size_t>(s)];
      case operand_role::target:
        return {place::target, loss_of_[static_cast<std::size_t>(s)]};
      case operand_role::loss:
        return {place::loss, loss_of_[static_cast<std::size_t>(s)]};
      case operand_role::scalars:
        return {place::scalars, 0};
      case operand_role::mask:
        return {place::mask, net_.mask_number(net_.input_mask(step.node))};
      default:
        return new_slot(o.layout);
    }
  }

  void emit_forward(int s, std::vector<command<B>>& to, plan_pass p) {
    backend_operation<B>& op = operations_[static_cast<std::size_t>(s)];
    plan_step const& step = low_.steps[static_cast<std::size_t>(s)];
    for (int const count : {sums_of(step).forward, sums_of(step).second_forward})
      if (count > 0) made_.sums.forward.push_back(count);
    for (invocation<B>& call : op.forward) {
      std::vector<address> arguments;
      for (auto const& o : call.operands) arguments.push_back(operand_address(s, o, to, p));
      int const row = add_row(s, call, p);
      int result = -1;
      for (std::size_t i = 0; i < arguments.size(); ++i)
        if (call.operands[i].role == operand_role::output) result = arguments[i].index;
      rows_.rows[static_cast<std::size_t>(row)].frozen = is_frozen(step);
      emit(to, call.kernel, std::move(arguments), row);
      to.back().result = result;
      to.back().result_type = backend_.element(op.output);
    }
  }

  /// If a step is to be recomputed, emits its forward again before the current backward command.
  void emit_recomputation(int s) {
    if (s < 0 || !recomputed_[static_cast<std::size_t>(s)]) return;
    recomputed_.recomputed[static_cast<std::size_t>(s)] = false;
    backend_operation<B> const& op = operations_[static_cast<std::size_t>(s)];
    values_[static_cast<std::size_t>(low_.steps[static_cast<std::size_t>(s)].output)] =
        stored{new_slot(op.output), op.output, {}};
    if (!workspaces_.empty()) workspaces_[static_cast<std::size_t>(s)].reset();
    std::size_t const first = rows_.rows.size();
    emit_forward(s, made_.backward, plan_pass::backward);
    for (std::size_t r = first; r < rows_.rows.size(); ++r) rows_.rows[r].recomputed = true;
  }

  int add_row(int s, invocation<B> const& call, plan_pass p) {
    plan_step const& step = low_.steps[static_cast<std::size_t>(s)];
    return rows_.add(backend_, name_of(net_, step), call.implementation, p,
                     low_.values[static_cast<std::size_t>(step.output)].dims.batched(batch_),
                     operations_[static_cast<std::size_t>(s)].output, call.flops,
                     bytes_of_tensors(backend_, call));
  }

  batch_sum_sizes sums_of(plan_step const& step) const {
    if (!training_ || is_frozen(step)) return {};
    return net_.kind(step.node).sums(net_.fields(step.node), net_.input_shapes(step.node));
  }

  void emit_outputs() {
    for (int v : output_values()) {
      auto const dims = low_.values[static_cast<std::size_t>(v)].dims.batched(batch_);
      layout const wanted = backend_.plain(values_[static_cast<std::size_t>(v)]->layout);
      address const at = in_layout(*values_[static_cast<std::size_t>(v)], wanted, made_.forward, "output",
                                   plan_pass::forward, dims);
      made_.output_slots.push_back(at.index);
    }
    keep(made_.output_slots);  // until the end of forward
  }

  /// Extends the lifetime of slots to the next command, or to the end. Negative indices are ignored.
  void keep(std::vector<int> const& slots) {
    for (int slot : slots)
      if (slot >= 0) made_.slots[static_cast<std::size_t>(slot)].used(clock_);
  }

  // ---- backward ------------------------------------------------------------------------------------------

  /// Begins backward with the gradients of the outputs, which the context writes to slots.
  void begin_output_gradients();
  /// Ends backward: the gradients of the inputs stay in dense slots.
  void emit_input_gradients();

  void emit_backward();
  void emit_backward(int s);
  /// Returns the batch statistics that a call of backward writes.
  std::vector<written_statistics> statistics_of(plan_step const& step, invocation<B> const& call);
  /// Number of values whose gradient is in this slot. A kernel may overwrite the slot only if the number is
  /// 1.
  int& owners(address const& slot);
  void store_gradient(std::optional<stored>& diff, address at, layout const& as);
  /// Address of the gradient of value v in a layout.
  address gradient_in(stored& diff, layout const& wanted, int v, std::string const& step);
  /// Moves the gradient of value v to a separate slot, if other values share its slot.
  void give_own_memory(std::optional<stored>& diff, int v, std::string const& step);
  /// Adds one more summand to the gradient of value v. `disposable`: nothing else reads the summand.
  void add_gradient(int v, stored summand, bool disposable, std::string const& step);
  /// Address for the gradient of an input. The first consumer writes to the value's gradient slot; later
  /// consumers write to a separate slot, whose content is added later.
  address diff_input(int s, operand<layout> const& o, bool overwrites,
                     std::vector<std::pair<operand<layout>, address>>& after);
  /// Moves a gradient from a separate slot to its destination: reorders or adds a parameter's gradient, or
  /// adds one more summand to a value's gradient.
  void finish_gradient(int s, operand<layout> const& o, address at);

  std::size_t largest_gradient() const {
    std::size_t most = 0;
    for (command<B> const& one : made_.backward) {
      std::size_t elements = 0;
      for (address const& a : one.arguments)
        if (a.where == place::gradient) elements += store_.table()[static_cast<std::size_t>(a.index)].room;
      most = std::max(most, elements * sizeof(typename B::scalar));
    }
    return most;
  }

  graph_view net_;
  parameter_store<B>& store_;
  B const& backend_;
  int batch_;
  bool training_;
  bool output_gradients_;
  bool input_gradients_;
  step_autotuner<B>* tune_;
  lowered_graph low_;
  std::vector<backend_operation<B>> operations_;
  std::vector<int> producer_;    // per value: its step, or -1
  recomputed_steps recomputed_;  // steps whose second forward is not emitted yet
  std::vector<int> loss_of_;
  std::vector<char> needs_gradient_;
  std::vector<std::optional<stored>> values_, diffs_;
  std::vector<int> owners_;           // per slot: number of values whose gradient it contains
  std::vector<int> gradients_begun_;  // per parameter: number of gradients emitted so far
  std::vector<std::optional<address>> workspaces_;
  plan_rows rows_;
  program<B> made_;
  int clock_ = 0;
};

}  // namespace cohort::detail

#include <cohort/plan/impl/compiler.tpp>
