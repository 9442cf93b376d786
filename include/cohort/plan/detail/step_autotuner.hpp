// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/tensor_backend.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/plan/plan_settings.hpp>
#include <cohort/plan/tuning.hpp>
#include <concepts>
#include <string>
#include <vector>

namespace cohort::detail {

/// Backend with several implementations of some steps.
template <class B>
concept has_candidates = tensor_backend<B> && requires(B const& backend,
                                                       operation_request<B> const& request) {
  { backend.candidates(request) } -> std::same_as<std::vector<std::string>>;
};

/// Backend whose `prepare` calls the tuning itself, to tune parts of a step.
template <class B>
concept tunes_kernels = tensor_backend<B> && requires(B const& backend, operation_request<B> const& request,
                                                      tuning& by) {
  { backend.prepare(request, by) } -> std::same_as<backend_operation<B>>;
};

/// Interface to prepare steps on B with the selected candidates. A `tuning` derives from this class for each
/// backend that it supports. plan/tuned_operation.hpp contains the implementation, separately because
/// compiling it needs 15 MB of memory.
template <class B>
struct step_autotuner {
  virtual backend_operation<B> prepare(B const& backend, operation_request<B>& request) = 0;

 protected:
  ~step_autotuner() = default;
};

/// Returns settings.tune as the autotuner of steps on B; null if `tune` is not set, or if B has nothing to
/// tune.
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

}  // namespace cohort::detail
