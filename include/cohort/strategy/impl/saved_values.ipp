// SPDX-License-Identifier: Apache-2.0
#include <cohort/error/exceptions.hpp>
#include <cohort/strategy/detail/saved_values.hpp>

namespace cohort::detail {

std::int64_t count_of(strategy_state const& from, std::string_view name, std::int64_t otherwise) {
  for (strategy_state::count const& one : from.counts)
    if (one.name == name) return one.value;
  return otherwise;
}

void require_real(strategy_state::array const& one, std::size_t least) {
  bool const real = one.type == element_type::f32 || one.type == element_type::f64;
  if (real && one.values.size() / bytes_of(one.type) >= least) return;
  throw data_error({.what = "cannot restore the state of a strategy",
                    .where = {"strategy/array/", one.name},
                    .expected = {"f32 or f64, at least ", least, " elements"},
                    .got = {name_of(one.type), ", ", one.values.size() / bytes_of(one.type), " elements"}});
}

}  // namespace cohort::detail
