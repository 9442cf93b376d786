// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/codec/top_k_compressor.hpp>
#include <cohort/strategy/sharing_by.hpp>
#include <memory>
#include <string>
#include <utility>

namespace cohort {

/// Ranks send the largest elements of their gradients as they are, the share `density` of all, and keep the rest for later
/// steps.
///
/// Moves     a message takes 96 bytes, 8 for 65,536 elements, and 4 besides its code for each element sent.
/// Errors    setting_error for a density out of (0, 1]. All else is as sharing_by says.
/// Source    Aji and Heafield, EMNLP 2017.
struct top_k_sharing {
  double density = 1e-3;
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

inline std::unique_ptr<strategy> top_k_sharing::on(communicator& world) const {
  top_k_compressor const checked({}, {.density = density});
  std::string const name = detail::text_of({"top-k sharing, density ", density});
  auto make = [how = top_k_compression{density}](tensor_table table, team* threads = nullptr) {
    return top_k_compressor(std::move(table), how, threads);
  };
  return sharing_by{
      std::string_view(name), make,
      sharing_settings{share, mean, warm_up, sync_buffers, way, group, max_staleness, slower_if_stale}}
      .on(world);
}

}  // namespace cohort
