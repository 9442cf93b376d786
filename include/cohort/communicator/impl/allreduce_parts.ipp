// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cohort/communicator/allreduce_parts.hpp>
#include <cohort/communicator/detail/allreduce_parts.hpp>

namespace cohort {

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
    return {detail::aligned_part_of({0, static_cast<std::int64_t>(count)}, rank, ranks, grain)};
  std::vector<index_slice> parts;
  for (std::size_t k = 0; k < detail::segments_of_ring(bytes, ranks); ++k)
    parts.push_back(
        detail::aligned_part_of(detail::segment_of_ring(count, bytes, k, ranks), rank, ranks, grain));
  return parts;
}

}  // namespace cohort
