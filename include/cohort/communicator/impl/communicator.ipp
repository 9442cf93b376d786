// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cohort/communicator/communicator.hpp>
#include <cohort/communicator/detail/allreduce_parts.hpp>
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

std::vector<index_slice> parts_of_allreduce(element_type type, std::size_t count, int rank, int ranks) {
  using detail::allreduce_algorithm;
  std::size_t const bytes = count * bytes_of(type);
  allreduce_algorithm const algorithm = detail::choose_allreduce_algorithm(bytes, ranks);
  std::int64_t const grain = detail::grain_of_parts(count, ranks);
  bool const folds = !std::has_single_bit(static_cast<unsigned>(ranks));
  bool const is_replicated =
      algorithm == allreduce_algorithm::doubling || (algorithm == allreduce_algorithm::halving && folds);
  if (ranks == 1 || grain == 1 || is_replicated) return {};
  if (algorithm == allreduce_algorithm::halving)
    return {aligned_part_of({0, static_cast<std::int64_t>(count)}, rank, ranks, grain)};
  std::vector<index_slice> parts;
  for (std::size_t k = 0; k < detail::segments_of_ring(bytes, ranks); ++k)
    parts.push_back(aligned_part_of(detail::segment_of_ring(count, bytes, k, ranks), rank, ranks, grain));
  return parts;
}

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
