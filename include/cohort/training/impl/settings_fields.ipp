// SPDX-License-Identifier: Apache-2.0
#include <cohort/training/detail/settings_fields.hpp>

namespace cohort::detail {

std::string describe(training_settings const& s) { return text_of_fields(list_fields(s, true)); }

}  // namespace cohort::detail
