// SPDX-License-Identifier: Apache-2.0
#include <cohort/strategy/detail/replicas.hpp>
#include <cohort/tensor/buffer.hpp>
#include <span>

namespace cohort::detail {

bool is_same_on_all_ranks(communicator& world, std::uint64_t number) {
  std::uint64_t both[2]{number, ~number};  // maxima: the largest number, complement of the smallest
  world.allreduce(std::span<std::uint64_t>(both), reduction::maximum);
  return both[0] == ~both[1];
}

void broadcast_replica(communicator& world, replica const& own) {
  parameter_set& parameters = own.parameters;
  reusable_buffer dense;
  for (int array = 0; array < own.arrays(); ++array)
    for (int p = 0; own.is_whole(array) && p < static_cast<int>(parameters.table().size()); ++p) {
      auto const count =
          static_cast<std::size_t>(parameters.table()[static_cast<std::size_t>(p)].spec.dims.elements());
      dense.resize(count * bytes_of(parameters.type()));
      parameters.read(p, own.arena(array), dense.data());
      world.broadcast({dense.data(), parameters.type(), count}, 0);
      parameters.write(p, dense.data(), own.arena(array));
    }
  parameters.mark_changed();
}

}  // namespace cohort::detail
