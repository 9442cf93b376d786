// SPDX-License-Identifier: Apache-2.0
#include <cohort/error/exceptions.hpp>
#include <cohort/optimizer/layer_override.hpp>
#include <cohort/plan/recomputation.hpp>

namespace cohort::detail {

std::vector<int> rows_of_blocks(graph_view net, recomputation const& how) {
  std::vector<int> block(static_cast<std::size_t>(net.size()), -1);
  for (std::size_t row = 0; row < how.blocks.size(); ++row) {
    bool found = false;
    for (int id = 0; id < net.size(); ++id) {
      if (net.kind(id).role == layer_role::input || !is_named(net.name(id), how.blocks[row])) continue;
      found = true;
      if (block[static_cast<std::size_t>(id)] < 0)
        block[static_cast<std::size_t>(id)] = static_cast<int>(row);
    }
    if (found) continue;
    std::string known;
    for (int id = 0; id < net.size(); ++id)
      if (net.kind(id).role != layer_role::input) known += (known.empty() ? "" : ", ") + net.name(id);
    throw setting_error({.what = "no layer matches this block to recompute",
                         .where = {"recompute.blocks[", row, "]"},
                         .expected = {"one of ", known},
                         .got = how.blocks[row].empty() ? "no name" : how.blocks[row]});
  }
  return block;
}

}  // namespace cohort::detail
