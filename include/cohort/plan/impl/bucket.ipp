// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/plan/bucket.hpp>

namespace cohort {

std::string_view parameter::layer() const { return std::string_view(name).substr(0, name.rfind('.')); }

std::vector<bucket> make_buckets(std::span<parameter> table, std::size_t element_bytes,
                                 std::size_t first_bytes, std::size_t bytes, std::size_t last_bytes) {
  auto const bytes_of_one = [&](parameter const& p) {
    return static_cast<std::size_t>(p.spec.dims.elements()) * element_bytes;
  };
  std::size_t remaining_bytes = 0;
  for (parameter const& p : table)
    if (!p.frozen) remaining_bytes += bytes_of_one(p);
  std::vector<bucket> buckets;
  std::size_t limit = first_bytes;  // limit of the open bucket
  bool open = false;
  for (std::size_t p = table.size(); p-- > 0;) {
    if (table[p].frozen) {
      table[p].bucket = -1;
      open = false;
      continue;
    }
    bool const new_layer = p + 1 == table.size() || table[p].node != table[p + 1].node;
    if (open && new_layer) open = static_cast<std::size_t>(buckets.back().elements) * element_bytes < limit;
    if (!open) {
      if (!buckets.empty()) limit = std::clamp(remaining_bytes / 2, std::min(last_bytes, bytes), bytes);
      buckets.push_back({.index = static_cast<int>(buckets.size())});
    }
    open = true;
    bucket& b = buckets.back();
    b.first_parameter = static_cast<int>(p);
    b.parameters += 1;
    b.first = table[p].first;
    b.elements += table[p].spec.dims.elements();
    table[p].bucket = b.index;
    remaining_bytes -= bytes_of_one(table[p]);
  }
  return buckets;
}

}  // namespace cohort
