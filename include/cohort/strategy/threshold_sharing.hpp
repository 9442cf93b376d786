// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/codec/threshold_compressor.hpp>
#include <cohort/strategy/sharing_by.hpp>
#include <memory>
#include <string>
#include <utility>

namespace cohort {

/// Ranks send of their gradients what has grown to a threshold, as a sign each, and keep the rest for later steps.
///
///     r += x    s = ±t where |r| ≥ t, else 0    r −= s
///
/// Units     thresholds are those of what is shared: a gradient, or a step. `per_parameter`: each tensor has its own.
/// Where arenas lie on a device that has threshold_device, gradients and residuals stay there: messages alone come to the
/// processor. The exceptions are the dense beginning, ranks that write one message together, and `unbounded`.
/// Moves     a message takes 96 bytes, 8 for 65,536 elements, 2 a threshold, and about n·H(d) + d·n bits at density d.
/// Errors    setting_error for a policy that makes no sense. All else is as sharing_by says.
/// Source    Strom, Interspeech 2015; Deeplearning4j's gradient sharing.
struct threshold_sharing {
  threshold_policy threshold = threshold::quantile{};
  residual_policy residual = residual::none{};
  bool per_parameter = false;
  cohort::share share = share::gradient;
  bool mean = false;
  int warm_up = 0;
  int sync_buffers = 0;
  route way = route::by_size;
  cohort::group group = group::process;
  int max_staleness = 0;
  bool slower_if_stale = false;

  std::unique_ptr<strategy> on(communicator& world) const;
};

inline std::unique_ptr<strategy> threshold_sharing::on(communicator& world) const {
  threshold.check();
  residual.check();
  std::string name =
      detail::text_of({"threshold sharing, ", threshold.name(), " ", threshold.initial, " ", threshold.lo,
                       " ", threshold.hi, " ", threshold.factor, " ", threshold.sample,
                       per_parameter ? " for each parameter" : "", ", residual ", residual.name()});
  if (residual != residual_policy())
    name += detail::text_of({" ", residual.number, " every ", residual.every});
  threshold_compression const how{.threshold = threshold, .residual = residual, .per_tensor = per_parameter};
  auto make = [how](tensor_table table, team* threads = nullptr,
                    std::shared_ptr<threshold_device> device_passes = nullptr) {
    return threshold_compressor(std::move(table), how, threads, best_isa(), std::move(device_passes));
  };
  return sharing_by{
      std::string_view(name), make,
      sharing_settings{share, mean, warm_up, sync_buffers, way, group, max_staleness, slower_if_stale}}
      .on(world);
}

}  // namespace cohort
