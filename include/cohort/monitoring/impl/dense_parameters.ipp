// SPDX-License-Identifier: Apache-2.0
#include <cohort/monitoring/detail/dense_parameters.hpp>

namespace cohort::detail {

dense_parameters::dense_parameters(parameter_set const& all, std::int64_t step)
    : step_(step), type_(all.type()) {
  values_.resize(static_cast<std::size_t>(all.elements()) * bytes_of(type_));
  all.read_all(all.master(), values_.data());
}

std::vector<double> dense_parameters::change_of(parameter const& one, dense_parameters const& before) const {
  std::vector<double> made;
  visit(one, [&](auto numbers) { made.assign(numbers.begin(), numbers.end()); });
  before.visit(one, [&](auto numbers) {
    for (std::size_t i = 0; i < made.size(); ++i) made[i] -= static_cast<double>(numbers[i]);
  });
  return made;
}

}  // namespace cohort::detail
