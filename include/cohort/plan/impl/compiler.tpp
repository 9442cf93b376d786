// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/plan/detail/compiler.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cohort::detail {

template <tensor_backend B>
void compiler<B>::emit_backward() {
  diffs_.resize(low_.values.size());
  gradients_begun_.assign(store_.table().size(), 0);
  std::vector<int> missing(store_.buckets().size());  // per bucket: number of gradients to emit
  for (std::size_t s = 0; s < low_.steps.size(); ++s)
    each_gradient(s, [&](int b) { ++missing[static_cast<std::size_t>(b)]; });
  if (output_gradients_) begin_output_gradients();
  for (int s = static_cast<int>(low_.steps.size()) - 1; s >= 0; --s) {
    emit_backward(s);
    each_gradient(static_cast<std::size_t>(s), [&](int b) {
      if (--missing[static_cast<std::size_t>(b)] == 0)
        made_.completions.push_back({static_cast<int>(made_.backward.size()), b});
    });
  }
}

template <tensor_backend B>
void compiler<B>::begin_output_gradients() {
  std::vector<int> const values = output_values();
  for (int v : values)
    made_.output_gradient_slots.push_back(
        new_slot(backend_.plain(low_.values[static_cast<std::size_t>(v)].dims.batched(batch_))).index);
  keep(made_.output_gradient_slots);
  for (std::size_t i = 0; i < values.size(); ++i) {
    auto const v = static_cast<std::size_t>(values[i]);
    if (!needs_gradient_[v]) continue;
    stored const from{{place::arena, made_.output_gradient_slots[i]},
                      backend_.plain(low_.values[v].dims.batched(batch_)),
                      {}};
    if (diffs_[v])
      add_gradient(values[i], from, true, "output");
    else
      store_gradient(diffs_[v], from.at, from.layout);
  }
}

template <tensor_backend B>
void compiler<B>::emit_input_gradients() {
  for (int v : low_.batch_values) {
    auto& diff = diffs_[static_cast<std::size_t>(v)];
    layout const plain = backend_.plain(low_.values[static_cast<std::size_t>(v)].dims.batched(batch_));
    made_.input_gradient_slots.push_back(diff ? gradient_in(*diff, plain, v, "input").index : -1);
  }
  keep(made_.input_gradient_slots);
}

template <tensor_backend B>
void compiler<B>::emit_backward(int s) {
  backend_operation<B>& op = operations_[static_cast<std::size_t>(s)];
  plan_step const& step = low_.steps[static_cast<std::size_t>(s)];
  auto& diff_output = diffs_[static_cast<std::size_t>(step.output)];
  bool const is_loss = loss_of_[static_cast<std::size_t>(s)] >= 0;
  if (!is_loss && !diff_output) return;  // no consumer: its gradients are zero, as in the initial arena
  if (int const count = sums_of(step).backward; count > 0 && !op.backward.empty())
    made_.sums.backward.push_back(count);
  std::string const name = name_of(net_, step);
  bool const frozen = is_frozen(step);
  auto const require_layout = [&](layout const& wanted) {
    if (!(diff_output->layout == wanted))
      store_gradient(diff_output, gradient_in(*diff_output, wanted, step.output, name), wanted);
  };
  for (invocation<B>& call : op.backward) {
    if (frozen && call.has(operand_role::diff_parameter) && !call.has(operand_role::diff_input)) continue;
    std::vector<address> arguments;
    std::vector<std::pair<operand<layout>, address>> after;
    if (call.count(operand_role::diff_output) > 1) give_own_memory(diff_output, step.output, name);
    for (auto const& o : call.operands) {
      switch (o.role) {
        case operand_role::diff_output:
          require_layout(o.layout);
          arguments.push_back(diff_output->at);
          break;
        case operand_role::diff_input:
          arguments.push_back(diff_input(s, o, op.overwrites && o.index == op.overwritten, after));
          break;
        case operand_role::diff_parameter: {
          int const parameter = parameter_of(step, o.index);
          if (frozen) {
            arguments.push_back(new_slot(o.layout));  // discarded
          } else if (!gradients_begun_[static_cast<std::size_t>(parameter)]
                     && *store_.fixed_layout(parameter) == o.layout) {
            gradients_begun_[static_cast<std::size_t>(parameter)] = 1;
            arguments.push_back({place::gradient, parameter});
          } else {
            arguments.push_back(new_slot(o.layout));
            after.emplace_back(o, arguments.back());
          }
          break;
        }
        default:
          arguments.push_back(operand_address(s, o, made_.backward, plan_pass::backward));
      }
    }
    emit(made_.backward, call.kernel, std::move(arguments), add_row(s, call, plan_pass::backward));
    if (!frozen) made_.backward.back().statistics = statistics_of(step, call);
    for (auto const& [o, at] : after) finish_gradient(s, o, at);
  }
  for (int const i : op.passed_gradients) {
    require_layout(op.output);
    int const v = step.inputs[static_cast<std::size_t>(i)];
    if (auto& diff = diffs_[static_cast<std::size_t>(v)])
      add_gradient(v, *diff_output, false, name);
    else
      store_gradient(diff, diff_output->at, diff_output->layout);
  }
  if (diff_output) --owners(diff_output->at);
  diff_output.reset();
}

template <tensor_backend B>
std::vector<written_statistics> compiler<B>::statistics_of(plan_step const& step, invocation<B> const& call) {
  std::vector<written_statistics> written;
  auto const writes = [&](std::size_t o, int parameter) {
    return call.operands[o].role == operand_role::diff_parameter
           && parameter_of(step, call.operands[o].index) == parameter;
  };
  std::size_t const all = call.operands.size();
  for (batch_statistics::layer const& one : statistics_layers(store_.table()))
    for (std::size_t mean = 0; mean < all; ++mean)
      for (std::size_t variance = 0; writes(mean, one.parameter) && variance < all; ++variance)
        if (writes(variance, one.parameter + 1))
          written.push_back(
              {mean, variance, net_.mask_number(net_.input_mask(step.node)), one.first, one.channels});
  return written;
}

template <tensor_backend B>
int& compiler<B>::owners(address const& slot) {
  owners_.resize(made_.slots.size());
  return owners_[static_cast<std::size_t>(slot.index)];
}

template <tensor_backend B>
void compiler<B>::store_gradient(std::optional<stored>& diff, address at, layout const& as) {
  ++owners(at);
  if (diff) --owners(diff->at);
  diff = stored{at, as, {}};
}

template <tensor_backend B>
address compiler<B>::gradient_in(stored& diff, layout const& wanted, int v, std::string const& step) {
  return in_layout(diff, wanted, made_.backward, step, plan_pass::backward,
                   low_.values[static_cast<std::size_t>(v)].dims.batched(batch_));
}

template <tensor_backend B>
void compiler<B>::give_own_memory(std::optional<stored>& diff, int v, std::string const& step) {
  if (owners(diff->at) == 1) return;
  address const own = new_slot(diff->layout);
  emit(made_.backward, backend_.reorder(diff->layout, diff->layout), {diff->at, own},
       rows_.add_move(backend_, step, plan_pass::backward,
                      low_.values[static_cast<std::size_t>(v)].dims.batched(batch_), diff->layout, false));
  store_gradient(diff, own, diff->layout);
}

template <tensor_backend B>
void compiler<B>::add_gradient(int v, stored summand, bool disposable, std::string const& step) {
  auto& diff = diffs_[static_cast<std::size_t>(v)];
  layout const as = diff->layout;
  address const from = gradient_in(summand, as, v, step);
  bool const replaces = owners(diff->at) > 1 && (disposable || !(from == summand.at));
  if (!replaces) give_own_memory(diff, v, step);
  emit(made_.backward, backend_.accumulate(as),
       replaces ? std::vector{diff->at, from} : std::vector{from, diff->at},
       rows_.add_move(backend_, step, plan_pass::backward,
                      low_.values[static_cast<std::size_t>(v)].dims.batched(batch_), as, true));
  if (replaces) store_gradient(diff, from, as);
}

template <tensor_backend B>
address compiler<B>::diff_input(int s, operand<layout> const& o, bool overwrites,
                                std::vector<std::pair<operand<layout>, address>>& after) {
  plan_step const& step = low_.steps[static_cast<std::size_t>(s)];
  auto& diff = diffs_[static_cast<std::size_t>(step.inputs[static_cast<std::size_t>(o.index)])];
  auto const& diff_output = diffs_[static_cast<std::size_t>(step.output)];
  if (!diff) {
    bool const in_place =
        overwrites && diff_output && diff_output->layout == o.layout && owners(diff_output->at) == 1;
    store_gradient(diff, in_place ? diff_output->at : new_slot(o.layout), o.layout);
    return diff->at;
  }
  address const beside = new_slot(o.layout);
  after.emplace_back(o, beside);
  return beside;
}

template <tensor_backend B>
void compiler<B>::finish_gradient(int s, operand<layout> const& o, address at) {
  plan_step const& step = low_.steps[static_cast<std::size_t>(s)];
  std::string const name = name_of(net_, step);
  if (o.role == operand_role::diff_parameter) {
    int const parameter = parameter_of(step, o.index);
    shape const& dims = store_.table()[static_cast<std::size_t>(parameter)].spec.dims;
    layout const& fixed = *store_.fixed_layout(parameter);
    if (gradients_begun_[static_cast<std::size_t>(parameter)]++ == 0) {
      emit(made_.backward, backend_.reorder(o.layout, fixed), {at, {place::gradient, parameter}},
           rows_.add_move(backend_, name, plan_pass::backward, dims, fixed, false));
      return;
    }
    stored summand{at, o.layout, {}};
    address const from = in_layout(summand, fixed, made_.backward, name, plan_pass::backward, dims);
    emit(made_.backward, backend_.accumulate(fixed), {from, {place::gradient, parameter}},
         rows_.add_move(backend_, name, plan_pass::backward, dims, fixed, true));
    made_.backward.back().accumulates = true;
    return;
  }
  add_gradient(step.inputs[static_cast<std::size_t>(o.index)], stored{at, o.layout, {}}, true, name);
}

}  // namespace cohort::detail
