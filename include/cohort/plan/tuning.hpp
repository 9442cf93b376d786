// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/tensor_backend.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/plan/plan_settings.hpp>
#include <concepts>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace cohort {

/// Who decides which of several ways to run a thing is taken here: by time, by what was kept, or as a test wants it.
///
/// Exact     ways give the same result but for rounding, so bits depend on what is chosen. Ranks may choose differently: what
///           they exchange is canonical, or in the master's layouts where these are the same on all, and summed alike.
class tuning {
 public:
  /// Seconds of one run of a way; infinity where it cannot run, or is what an earlier one is.
  using stopwatch = std::function<double(std::size_t way)>;

  virtual ~tuning() = default;

  /// Which of the ways is taken. The first is the one that runs where nothing is tuned.
  ///
  /// `what`    all that the answer depends on, as text: machine, layer, shapes, layouts.
  /// Errors    whatever the first way throws; others that cannot run are passed over.
  virtual std::size_t choose(std::string const& what, std::span<std::string const> ways,
                             stopwatch const& seconds_of) = 0;
};

namespace detail {

/// A backend that knows several ways to run some steps.
template <class B>
concept has_candidates = tensor_backend<B> && requires(B const& backend,
                                                       operation_request<B> const& request) {
  { backend.candidates(request) } -> std::same_as<std::vector<std::string>>;
};

/// A backend that asks a tuning by itself, for what is smaller than a step.
template <class B>
concept asks_a_tuning = tensor_backend<B> && requires(B const& backend, operation_request<B> const& request,
                                                      tuning& by) {
  { backend.prepare(request, by) } -> std::same_as<operation<B>>;
};

/// Prepares steps on B by what is chosen. A tuning is one of each backend that it tunes: plan/tuned_operation.hpp has it, apart
/// because it costs 15 MB to compile.
template <class B>
struct step_autotuner {
  virtual operation<B> prepare(B const& backend, operation_request<B>& request) = 0;

 protected:
  ~step_autotuner() = default;
};

/// Who tunes steps on B, or nobody.
template <tensor_backend B>
step_autotuner<B>* tuning_of(plan_settings const& settings) {
  if constexpr (has_candidates<B> || asks_a_tuning<B>) {
    if (auto* const found = dynamic_cast<step_autotuner<B>*>(settings.tune)) return found;
    if (settings.tune)
      throw setting_error({.what = "tune is for other backends than the one that is used",
                           .where = {B::name},
                           .expected = "cohort::tune with the trainer's choice of backends"});
  }
  return nullptr;
}

}  // namespace detail

}  // namespace cohort
