// SPDX-License-Identifier: Apache-2.0
#include <cohort/error/exceptions.hpp>
#include <cohort/training/detail/named_parameters.hpp>
#include <string>

namespace cohort::detail {

parameter_range parameters_named(parameter_set const& all, std::string_view name, char const* where) {
  parameter_range layer{.first = 0, .last = 0};
  for (int p = 0; p < std::ssize(all.table()); ++p) {
    parameter const& one = all.table()[static_cast<std::size_t>(p)];
    if (one.name == name) return {.first = p, .last = p + 1};
    if (one.layer() != name) continue;
    if (layer.last == 0) layer.first = p;
    layer.last = p + 1;
  }
  if (layer.last > 0) return layer;
  std::string known;
  for (parameter const& one : all.table()) known += (known.empty() ? "" : ", ") + one.name;
  throw setting_error({.what = "the network has no parameter and no layer with parameters of this name",
                       .where = where,
                       .expected = {"one of ", known, ", or a layer of these"},
                       .got = std::string(name)});
}

}  // namespace cohort::detail
