// SPDX-License-Identifier: Apache-2.0
#include <cohort/communicator/detail/combine.hpp>
#include <cohort/communicator/detail/recursive_doubling.hpp>
#include <cstring>

namespace cohort::detail {

bool recursive_doubling::advance(operation_messages& m) {
  return advance_among(m, [&](folded_ranks const& folded) {
    while (m.all_complete()) {
      if (step > 0) {
        std::byte* const received = m.scratch.data();
        if (folded.index & 1 << (step - 1)) {
          combine(m.rank_port.vectors, data, received, op);
        } else if (data.bytes() > 0) {  // this rank's elements are the left operand
          combine(m.rank_port.vectors, {received, data.type, data.count}, data.data, op);
          std::memcpy(data.data, received, data.bytes());
        }
      }
      if (1 << step == folded.ranks) return true;
      int const other = folded.rank_at(folded.index ^ 1 << step);
      m.receive(other, {m.scratch.data(), data.bytes()});
      m.send(other, bytes_in(data));
      ++step;
    }
    return false;
  });
}

}  // namespace cohort::detail
