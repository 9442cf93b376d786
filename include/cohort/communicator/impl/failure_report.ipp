// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/communicator/detail/failure_report.hpp>
#include <cstdint>
#include <cstring>

namespace cohort::detail {

std::vector<std::byte> failure_report::encoded() const {
  std::vector<std::int32_t> numbers{exit_status, static_cast<std::int32_t>(std::min(lost.size(), most_lost))};
  numbers.insert(numbers.end(), lost.begin(), lost.begin() + numbers[1]);
  std::span<std::byte const> const begin = std::as_bytes(std::span(numbers));
  std::vector<std::byte> bytes(begin.begin(), begin.end());
  std::span<std::byte const> const end =
      std::as_bytes(std::span(text)).first(std::min(text.size(), longest_text));
  bytes.insert(bytes.end(), end.begin(), end.end());
  return bytes;
}

failure_report failure_report::decoded(std::span<std::byte const> bytes) {
  auto const number = [&] {
    std::int32_t value = 0;
    std::size_t const count = std::min(bytes.size(), sizeof value);
    if (count > 0) std::memcpy(&value, bytes.data(), count);
    bytes = bytes.subspan(count);
    return value;
  };
  failure_report report;
  if (int const status = number(); status >= 1 && status <= 255) report.exit_status = status;
  for (std::int32_t left = number(); left > 0 && !bytes.empty() && report.lost.size() < most_lost; --left)
    report.lost.push_back(number());
  report.text.assign(reinterpret_cast<char const*>(bytes.data()), std::min(bytes.size(), longest_text));
  return report;
}

[[gnu::cold]] failure_report failure_of(std::exception_ptr const& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (communicator_error const& e) {
    return {e.what(), e.exit_status()};
  } catch (std::exception const& e) {
    return {e.what(), own_error_status};
  } catch (...) {
    return {"an exception that is not derived from std::exception", own_error_status};
  }
}

}  // namespace cohort::detail
