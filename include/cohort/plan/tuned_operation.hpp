// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/execution/detail/least_seconds.hpp>
#include <cohort/plan/detail/describe_machine.hpp>
#include <cohort/plan/detail/standalone_operation.hpp>
#include <cohort/plan/tuning.hpp>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace cohort::detail {

/// A step as text, without its name: layers of the same shape are one.
template <tensor_backend B>
[[gnu::noinline]] std::string describe_request(B const& backend, operation_request<B> const& r) {
  std::string text(r.kind->name);
  auto const fields = [&](kind const& of, double const* values) {
    for (int f = 0; f < of.slots; ++f) text += text_of({f == 0 ? " {" : ", ", values[f]});
    if (of.slots > 0) text += '}';
  };
  fields(*r.kind, r.fields);
  if (r.activation) text += text_of({" + ", r.activation->name});
  if (r.activation) fields(*r.activation, r.activation_fields);
  text += text_of({r.sums ? " + add" : "", ", batch ", r.batch, r.training ? ", training" : ", inference",
                   r.frozen ? ", frozen" : ""});
  for (std::size_t i = 0; i < r.input_shapes.size(); ++i)
    text += text_of({", input ", to_string(r.input_shapes[i]), ' ', backend.describe(r.inputs[i]),
                     r.wants_diff_input.size() > i && r.wants_diff_input[i] ? " with gradient" : ""});
  text += ", output " + to_string(r.output_shape);
  for (auto const& p : r.parameters) text += ", " + (p ? backend.describe(*p) : "any");
  return text;
}

/// Whether both run the same kernels on the same layouts.
template <tensor_backend B>
bool are_alike(operation<B> const& a, operation<B> const& b) {
  auto const same = [](std::vector<invocation<B>> const& x, std::vector<invocation<B>> const& y) {
    if (x.size() != y.size()) return false;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (x[i].implementation != y[i].implementation || x[i].operands.size() != y[i].operands.size())
        return false;
      for (std::size_t o = 0; o < x[i].operands.size(); ++o)
        if (x[i].operands[o].role != y[i].operands[o].role
            || !(x[i].operands[o].layout == y[i].operands[o].layout))
          return false;
    }
    return true;
  };
  return a.output == b.output && a.parameters == b.parameters && same(a.forward, b.forward)
         && same(a.backward, b.backward);
}

/// The backend's operation for a step by the way that `by` chooses among the backend's candidates, whose name then stands in the
/// implementations' names.
template <has_candidates B>
[[gnu::noinline]] operation<B> tuned_operation(B const& backend, operation_request<B>& request, tuning& by) {
  std::vector<std::string> const ways = backend.candidates(request);
  if (ways.size() < 2) return backend.prepare(request);
  std::vector<std::optional<operation<B>>> made(ways.size());
  auto const prepare = [&](std::size_t way) {
    request.candidate = way == 0 ? "" : ways[way];
    made[way] = backend.prepare(request);
  };
  auto const seconds_of = [&](std::size_t way) {
    if (!made[way]) {
      try {
        prepare(way);
      } catch (backend_error const&) {
        if (way == 0) throw;
        made[way].emplace();  // is like nothing and runs nothing
      }
    }
    bool useless = made[way]->forward.empty();
    for (std::size_t earlier = 0; earlier < way && !useless; ++earlier)
      useless = made[earlier] && are_alike<B>(*made[earlier], *made[way]);
    if (useless) return std::numeric_limits<double>::infinity();
    return least_seconds(standalone_operation<B>(backend, request, *made[way]));
  };
  std::size_t const taken =
      by.choose(describe_machine<B>() + '\n' + describe_request(backend, request), ways, seconds_of);
  if (!made[taken]) prepare(taken);
  for (auto* calls : {&made[taken]->forward, &made[taken]->backward})
    for (auto& call : *calls) call.implementation += ", tuned: " + ways[taken];
  return std::move(*made[taken]);
}

}  // namespace cohort::detail

namespace cohort {

/// What makes a tuning one of backend B: class mine : public tuning, public step_autotuner_for<B> { … }.
template <tensor_backend B>
class step_autotuner_for : public detail::step_autotuner<B> {
 public:
  operation<B> prepare(B const& backend, operation_request<B>& request) override {
    if constexpr (detail::has_candidates<B>)
      return detail::tuned_operation(backend, request, dynamic_cast<tuning&>(*this));
    else if constexpr (detail::asks_a_tuning<B>)
      return backend.prepare(request, dynamic_cast<tuning&>(*this));
    else
      return backend.prepare(request);
  }
};

}  // namespace cohort
