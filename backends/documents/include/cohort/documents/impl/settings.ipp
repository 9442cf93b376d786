// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cohort/documents/settings.hpp>
#include <cstdint>
#include <cstdio>
#include <system_error>

namespace cohort::documents {

std::size_t bytes_of(std::string_view setting, std::string_view text) {
  constexpr std::string_view units = "KMGT";
  std::string_view digits = text;
  unsigned shift = 0;
  if (std::size_t const unit = digits.empty() ? units.npos : units.find(digits.back()); unit != units.npos) {
    shift = 10 * static_cast<unsigned>(unit + 1);
    digits.remove_suffix(1);
  }
  std::size_t count = 0;
  auto const [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  bool const whole = failure == std::errc() && end == digits.data() + digits.size();
  if (whole && count <= SIZE_MAX >> shift) return count << shift;
  throw usage_error(std::string(setting)
                    + ": expected a number of bytes up to 2^64 - 1, such as 536870912, 512M or 8G (K, M, G and "
                      "T are powers of 1024), got '"
                    + std::string(text) + "'");
}

void print_lines(std::string_view text, sink const& output) {
  while (!text.empty()) {
    std::size_t const end = std::min(text.find('\n'), text.size());
    output(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

sink stdout_sink() {
  return [](std::string_view line) {
    std::printf("%.*s\n", static_cast<int>(line.size()), line.data());
    std::fflush(stdout);
  };
}

}  // namespace cohort::documents
