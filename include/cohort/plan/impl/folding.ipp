// SPDX-License-Identifier: Apache-2.0
#include <cohort/plan/detail/folding.hpp>

namespace cohort::detail {

bool folding::part::operator==(part const& other) const {
  return *kind == *other.kind && fields == other.fields && first == other.first && count == other.count;
}

parameter_list folded_parameters(parameter_list const& own, shape const& output) {
  parameter_list made;
  made.add(own.specs[0]);
  made.add({"bias", {channels_of(output)}, parameter_role::biases});
  return made;
}

std::vector<double> with_bias(kind const& what, double const* fields) {
  std::vector<double> made(fields, fields + what.slots);
  for (field_info const& field : what.fields)
    if (field.name == "bias") made[static_cast<std::size_t>(field.first_slot)] = 1;
  return made;
}

}  // namespace cohort::detail
