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
  std::uint64_t received_bytes = 0;  ///< received by the transport

  bool advance(operation_messages& m) {
    received_bytes = m.rank_port.wire->received_bytes();
    answers = m.rank_port.wire->query_ranks(patience);
    return true;
  }
};

}  // namespace cohort::detail
