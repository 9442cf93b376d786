// SPDX-License-Identifier: Apache-2.0
#include <cohort/communicator/detail/task.hpp>

namespace cohort::detail {

elements slice_of(elements const& all, index_slice const& cut) {
  return {all.data + static_cast<std::size_t>(cut.first) * bytes_of(all.type), all.type,
          static_cast<std::size_t>(cut.count)};
}

int task::wrapped(int k) const { return (k % size() + size()) % size(); }

elements task::part(int k) const {
  return slice_of(data, part_of({0, static_cast<std::int64_t>(data.count)}, wrapped(k), size()));
}

void task::send(int to, std::span<std::byte const> bytes) {
  add_pending(at.wire->send(on_wire(to), on, tag, bytes));
  at.bytes_sent.fetch_add(bytes.size(), std::memory_order_relaxed);
  at.messages_sent.fetch_add(1, std::memory_order_relaxed);
}

void task::receive(int from, std::span<std::byte> bytes) {
  add_pending(at.wire->receive(on_wire(from), on, tag, bytes));
}

void task::receive_combining(int from, elements into) {
  add_pending(at.wire->receive_combining(on_wire(from), on, tag, into, how));
}

bool task::all_complete() {
  for (; pending_count_ > 0; --pending_count_, ++at.moves)
    if (!at.wire->done(pending_[static_cast<std::size_t>(pending_count_ - 1)])) return false;
  return true;
}

void task::add_pending(transport::ticket one) {
  pending_[static_cast<std::size_t>(pending_count_)] = one;
  ++pending_count_;
}

}  // namespace cohort::detail
