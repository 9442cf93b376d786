// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cohort/backend/priority.hpp>
#include <cstdlib>
#include <string_view>

namespace cohort::detail {

bool environment_number(char const* variable, int& number) {
  char const* const text = std::getenv(variable);
  if (!text || !*text) return false;
  std::string_view const digits(text);
  auto const [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (failure != std::errc() || end != digits.data() + digits.size())
    throw setting_error({.what = "an environment variable is not an integer",
                         .where = variable,
                         .expected = "an integer",
                         .got = text});
  return true;
}

std::string log_line(std::string const& backend, availability const& found) {
  return "backend: " + backend + (found.device.empty() ? "" : " on " + found.device);
}

}  // namespace cohort::detail
