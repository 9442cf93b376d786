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
  buffer const dense(own.bytes());
  for (int array = 0; array < own.arrays(); ++array) {
    if (!own.is_whole(array)) continue;
    own.read(array, dense.data());
    world.broadcast(
        {dense.data(), own.parameters.type(), static_cast<std::size_t>(own.parameters.elements())}, 0);
    own.write(array, dense.data());
  }
  own.parameters.mark_changed();
}

}  // namespace cohort::detail
