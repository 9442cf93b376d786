// SPDX-License-Identifier: Apache-2.0
#include <cohort/communicator/communicator.hpp>
#include <cohort/error/exceptions.hpp>

namespace cohort::detail {

[[gnu::cold]] void check_settings(communicator_settings const& how) {
  if (how.deadline < std::chrono::milliseconds(1) || how.deadline > std::chrono::hours(1000))
    throw setting_error({.what = "the deadline of a communicator is out of range",
                         .where = "communicator_settings.deadline",
                         .expected = "1 ms to 1,000 hours",
                         .got = {how.deadline.count(), " ms"}});
}

}  // namespace cohort::detail

namespace cohort {

elements::elements(std::byte* at, element_type of, std::size_t many, memory_space* where)
    : data(at), type(of), count(many), space(where) {}

std::span<std::byte const> gathered::of(int rank) const {
  auto const r = static_cast<std::size_t>(rank);
  return std::span<std::byte const>(bytes).subspan(first[r], first[r + 1] - first[r]);
}

std::chrono::steady_clock::time_point pending_operation::wait() {
  return operation_ ? std::exchange(operation_, nullptr)->wait() : std::chrono::steady_clock::time_point();
}

void communicator::reduce_scatter(elements data, reduction how) { start_reduce_scatter(data, how).wait(); }

gathered communicator::allgatherv(std::span<std::byte const> mine) {
  gathered all;
  start_allgatherv(mine, all).wait();
  return all;
}

}  // namespace cohort
