// SPDX-License-Identifier: Apache-2.0
#include <cohort/codec/top_k_compressor.hpp>
#include <cohort/strategy/sharing_by.hpp>
#include <cohort/strategy/top_k_sharing.hpp>
#include <string>
#include <utility>

namespace cohort {

std::unique_ptr<strategy> top_k_sharing::on(communicator& world) const {
  top_k_compressor const checked({}, {.density = density});
  std::string const name = detail::text_of({"top-k sharing, density ", density});
  auto make = [how = top_k_compression{density}](tensor_table table, team* threads = nullptr) {
    return top_k_compressor(std::move(table), how, threads);
  };
  return sharing_by{std::string_view(name), make, settings}.on(world);
}

}  // namespace cohort
