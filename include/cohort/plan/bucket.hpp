// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/layer/parameter.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

/// One parameter tensor of a network.
///
/// Units     `first` counts elements in the canonical flat view: dense tensors in the order of the layers.
///           `offset` and `room` count elements in the master arena, padding included, multiples of 16.
struct parameter {
  std::string name;
  int node = 0;
  int index = 0;
  parameter_spec spec{};
  std::int64_t first = 0;
  std::size_t offset = 0;
  std::size_t room = 0;
  int bucket = 0;  ///< −1: frozen
  bool frozen = false;

  std::string_view layer() const { return std::string_view(name).substr(0, name.rfind('.')); }
  bool trains() const { return is_trained(spec.role) && !frozen; }
};

/// Neighbouring parameters by their numbers: [first, last).
struct parameter_range {
  int first = 0;
  int last = std::numeric_limits<int>::max();

  bool has(int p) const { return p >= first && p < last; }
};

/// Parameters whose gradients are exchanged together: neighbouring layers, in the order in which backward ends.
///
/// Shapes    elements [first, first + elements) of the canonical flat view; no padding.
struct bucket {
  int index = 0;
  int first_parameter = 0;
  int parameters = 0;
  std::int64_t first = 0;
  std::int64_t elements = 0;
};

/// Cuts the parameters into buckets from the last layer to the first; a layer is never cut, and a frozen one is in none.
///
/// Units     the first bucket is closed at `first_bytes`, so that sending begins early; the others at `bytes` or half of what is left
///           then, if that is less, but not below `last_bytes`: little is still to be sent when backward ends.
/// After     every parameter knows its bucket.
inline std::vector<bucket> make_buckets(std::span<parameter> table, std::size_t element_bytes,
                                        std::size_t first_bytes = std::size_t{64} << 10,
                                        std::size_t bytes = std::size_t{4} << 20,
                                        std::size_t last_bytes = std::size_t{256} << 10) {
  auto const bytes_of_one = [&](parameter const& p) {
    return static_cast<std::size_t>(p.spec.dims.elements()) * element_bytes;
  };
  std::size_t left = 0;
  for (parameter const& p : table)
    if (!p.frozen) left += bytes_of_one(p);
  std::vector<bucket> buckets;
  std::size_t limit = first_bytes;  // of the one that is open
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
      if (!buckets.empty()) limit = std::clamp(left / 2, std::min(last_bytes, bytes), bytes);
      buckets.push_back({.index = static_cast<int>(buckets.size())});
    }
    open = true;
    bucket& b = buckets.back();
    b.first_parameter = static_cast<int>(p);
    b.parameters += 1;
    b.first = table[p].first;
    b.elements += table[p].spec.dims.elements();
    table[p].bucket = b.index;
    left -= bytes_of_one(table[p]);
  }
  return buckets;
}

}  // namespace cohort
