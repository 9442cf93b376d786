// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/detail/operation_messages.hpp>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>

namespace cohort::detail {

struct message_send {
  std::span<std::byte const> bytes{};
  int to = 0;
  bool started = false;

  bool advance(operation_messages& m) {
    if (!std::exchange(started, true)) m.send(to, bytes);
    return m.all_complete();
  }
};

struct message_receive {
  std::span<std::byte> bytes{};
  int from = 0;
  bool started = false;

  bool advance(operation_messages& m) {
    if (!std::exchange(started, true)) m.receive(from, bytes);
    return m.all_complete();
  }
};

/// Checks for a message from one rank, or from any rank (−1): once, or until a message has arrived.
struct message_probe {
  int from = 0;
  bool until_found = false;
  std::optional<transport::waiting> found{};

  bool advance(operation_messages& m) {
    found = m.probe(from);
    return !until_found || found;
  }
};

}  // namespace cohort::detail
