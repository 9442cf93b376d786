// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/detail/operation_messages.hpp>
#include <cohort/detail/chrono.hpp>
#include <cstdint>
#include <vector>

namespace cohort::detail {

/// Queries the status of all ranks of the transport; see transport::query_ranks.
struct rank_query {
  std::chrono::milliseconds patience{};
  std::vector<rank_status> answers{};
  std::uint64_t moves = 0;  ///< transport::moves

  bool advance(operation_messages& m) {
    moves = m.rank_port.wire->moves();
    answers = m.rank_port.wire->query_ranks(patience);
    return true;
  }
};

}  // namespace cohort::detail
