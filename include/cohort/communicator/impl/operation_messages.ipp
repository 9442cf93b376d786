// SPDX-License-Identifier: Apache-2.0
#include <cohort/communicator/detail/combine.hpp>
#include <cohort/communicator/detail/operation_messages.hpp>

namespace cohort::detail {

elements operation_messages::part(elements const& all, int k, std::int64_t grain) const {
  return slice_of(all, aligned_part_of({0, static_cast<std::int64_t>(all.count)}, wrapped(k), size(), grain));
}

void operation_messages::send(int to, std::span<std::byte const> bytes) {
  pending_[pending_count_++] = rank_port.wire->send(on_wire(to), call.on, call.tag, bytes);
  rank_port.bytes_sent.fetch_add(bytes.size(), std::memory_order_relaxed);
  rank_port.messages_sent.fetch_add(1, std::memory_order_relaxed);
}

void operation_messages::receive(int from, std::span<std::byte> bytes) {
  pending_[pending_count_++] = rank_port.wire->receive(on_wire(from), call.on, call.tag, bytes);
}

void operation_messages::receive_combining(int from, elements into, reduction op) {
  if (!rank_port.wire->combines()) return receive(from, {scratch.data(), into.bytes()});
  pending_[pending_count_++] = rank_port.wire->receive_combining(on_wire(from), call.on, call.tag, into, op);
}

void operation_messages::combine_received(elements into, reduction op) {
  if (!rank_port.wire->combines()) combine(rank_port.vectors, into, scratch.data(), op);
}

std::optional<transport::waiting> operation_messages::probe(int from) {
  return rank_port.wire->probe(from < 0 ? -1 : on_wire(from), call.on, call.tag);
}

bool operation_messages::all_complete() {
  for (; pending_count_ > 0; --pending_count_, ++rank_port.moves)
    if (!rank_port.wire->done(pending_[pending_count_ - 1])) return false;
  return true;
}

elements slice_of(elements const& all, index_slice const& cut) {
  return {all.data + static_cast<std::size_t>(cut.first) * bytes_of(all.type), all.type,
          static_cast<std::size_t>(cut.count)};
}

}  // namespace cohort::detail
