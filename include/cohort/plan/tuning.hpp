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

/// Selects one of several implementations (candidates): by time, from a cache, or as a test requires.
///
/// Exact     candidates give the same result except for rounding, so bits depend on the selection. Ranks may
///           select differently: exchanged data is canonical, or in the master's layouts if these are equal
///           on all ranks, and all ranks sum it the same way.
class tuning {
 public:
  /// Returns the seconds of one run of a candidate; infinity if it cannot run or equals an earlier candidate.
  using stopwatch = std::function<double(std::size_t candidate)>;

  virtual ~tuning() = default;

  /// Returns the index of the selected candidate. Candidate 0 is the one that runs without tuning.
  ///
  /// `what`    text of everything that the selection depends on: machine, layer, shapes, layouts.
  /// Errors    those of candidate 0. Other candidates that cannot run are skipped.
  virtual std::size_t choose(std::string const& what, std::span<std::string const> candidates,
                             stopwatch const& seconds_of) = 0;
};

namespace detail {

/// Backend with several implementations of some steps.
template <class B>
concept has_candidates = tensor_backend<B> && requires(B const& backend,
                                                       operation_request<B> const& request) {
  { backend.candidates(request) } -> std::same_as<std::vector<std::string>>;
};

/// Backend that calls a tuning directly, for parts that are smaller than a step.
template <class B>
concept tunes_kernels = tensor_backend<B> && requires(B const& backend, operation_request<B> const& request,
                                                      tuning& by) {
  { backend.prepare(request, by) } -> std::same_as<backend_operation<B>>;
};

/// Prepares steps on B with the selected candidates. A tuning derives from it for each backend that it
/// supports. plan/tuned_operation.hpp contains the implementation; it is separate because it costs 15 MB to
/// compile.
template <class B>
struct step_autotuner {
  virtual backend_operation<B> prepare(B const& backend, operation_request<B>& request) = 0;

 protected:
  ~step_autotuner() = default;
};

/// Returns the autotuner of steps on B, or null.
///
/// Errors    setting_error if `tune` does not support B.
template <tensor_backend B>
step_autotuner<B>* autotuner_of(plan_settings const& settings) {
  if constexpr (has_candidates<B> || tunes_kernels<B>) {
    if (auto* const found = dynamic_cast<step_autotuner<B>*>(settings.tune)) return found;
    if (settings.tune)
      throw setting_error({.what = "the autotuner does not support this backend",
                           .where = {B::name},
                           .expected = "cohort::tune with the same backends as the trainer"});
  }
  return nullptr;
}

}  // namespace detail

}  // namespace cohort
