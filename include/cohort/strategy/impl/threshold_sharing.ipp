// SPDX-License-Identifier: Apache-2.0
#include <cohort/codec/threshold_compressor.hpp>
#include <cohort/strategy/sharing_by.hpp>
#include <cohort/strategy/threshold_sharing.hpp>
#include <string>
#include <utility>

namespace cohort {

std::unique_ptr<strategy> threshold_sharing::on(communicator& world) const {
  threshold.check();
  residual.check();
  std::string name =
      detail::text_of({"threshold sharing, ", threshold.name(), " ", threshold.initial, " ", threshold.lo,
                       " ", threshold.hi, " ", threshold.factor, " ", threshold.sample,
                       per_parameter ? " per parameter" : "", ", residual ", residual.name()});
  if (residual != residual_policy())
    name += detail::text_of({" ", residual.number, " every ", residual.every});
  threshold_compression const how{.threshold = threshold, .residual = residual, .per_tensor = per_parameter};
  auto make = [how](tensor_table table, team* threads = nullptr,
                    std::shared_ptr<threshold_device> device_passes = nullptr) {
    return threshold_compressor(std::move(table), how, threads, best_isa(), std::move(device_passes));
  };
  return sharing_by{std::string_view(name), make, settings}.on(world);
}

}  // namespace cohort
