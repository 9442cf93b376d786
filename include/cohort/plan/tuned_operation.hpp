// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/execution/detail/least_seconds.hpp>
#include <cohort/plan/detail/describe_machine.hpp>
#include <cohort/plan/detail/standalone_operation.hpp>
#include <cohort/plan/detail/step_autotuner.hpp>
#include <cohort/plan/tuning.hpp>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace cohort::detail {

/// Describes a step as text, without its name, so that equal steps with different names have the same text.
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

/// Returns whether both operations run the same kernels on the same layouts.
template <tensor_backend B>
bool have_same_kernels(backend_operation<B> const& a, backend_operation<B> const& b) {
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

/// Prepares a step with the candidate that `by` selects among the backend's candidates. The candidate's name
/// is added to the implementations' names.
template <has_candidates B>
[[gnu::noinline]] backend_operation<B> tuned_operation(B const& backend, operation_request<B>& request,
                                                       tuning& by) {
  std::vector<std::string> const candidates = backend.candidates(request);
  if (candidates.size() < 2) return backend.prepare(request);
  std::vector<std::optional<backend_operation<B>>> made(candidates.size());
  auto const prepare = [&](std::size_t candidate) {
    request.candidate = candidate == 0 ? "" : candidates[candidate];
    made[candidate] = backend.prepare(request);
  };
  auto const seconds_of = [&](std::size_t candidate) {
    if (!made[candidate]) {
      try {
        prepare(candidate);
      } catch (backend_error const&) {
        if (candidate == 0) throw;
        made[candidate].emplace();  // empty: never selected
      }
    }
    bool skipped = made[candidate]->forward.empty();
    for (std::size_t earlier = 0; earlier < candidate && !skipped; ++earlier)
      skipped = made[earlier] && have_same_kernels<B>(*made[earlier], *made[candidate]);
    if (skipped) return std::numeric_limits<double>::infinity();
    return least_seconds(standalone_operation<B>(backend, request, *made[candidate]));
  };
  std::size_t const chosen =
      by.choose(describe_machine<B>() + '\n' + describe_request(backend, request), candidates, seconds_of);
  if (!made[chosen]) prepare(chosen);
  for (auto* calls : {&made[chosen]->forward, &made[chosen]->backward})
    for (auto& call : *calls) call.implementation += ", tuned: " + candidates[chosen];
  return std::move(*made[chosen]);
}

}  // namespace cohort::detail

namespace cohort {

/// Base class of a tuning that supports backend B: class mine : public tuning, public step_autotuner_for<B> {
/// … }.
template <tensor_backend B>
class step_autotuner_for : public detail::step_autotuner<B> {
 public:
  backend_operation<B> prepare(B const& backend, operation_request<B>& request) override {
    if constexpr (detail::has_candidates<B>)
      return detail::tuned_operation(backend, request, dynamic_cast<tuning&>(*this));
    else if constexpr (detail::tunes_kernels<B>)
      return backend.prepare(request, dynamic_cast<tuning&>(*this));
    else
      return backend.prepare(request);
  }
};

}  // namespace cohort
