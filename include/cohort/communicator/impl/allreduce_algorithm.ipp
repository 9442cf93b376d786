// SPDX-License-Identifier: Apache-2.0
#include <cohort/communicator/detail/allreduce_algorithm.hpp>
#include <cohort/communicator/detail/recursive_doubling.hpp>
#include <cohort/communicator/detail/recursive_halving.hpp>
#include <cohort/communicator/detail/ring_allreduce.hpp>
#include <cohort/communicator/detail/ring_reduce_scatter.hpp>

namespace cohort::detail {

bool (*advance_of(allreduce_algorithm algorithm))(task&) {
  return algorithm == allreduce_algorithm::ring      ? ring_allreduce
         : algorithm == allreduce_algorithm::halving ? recursive_halving_allreduce
                                                     : recursive_doubling_allreduce;
}

std::size_t scratch_of(allreduce_algorithm algorithm, port const& at, elements const& data, int ranks) {
  return algorithm == allreduce_algorithm::ring ? scratch_of_ring(at, segment_of_ring(data, 0, ranks), ranks)
         : algorithm == allreduce_algorithm::halving ? scratch_of_halving(at, data, ranks)
                                                     : scratch_of_doubling(data);
}

}  // namespace cohort::detail
