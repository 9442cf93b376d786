// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cohort/communicator/detail/recursive_doubling.hpp>
#include <cstring>

namespace cohort::detail {

folded_ranks::folded_ranks(task const& t)
    : ranks(static_cast<int>(std::bit_floor(static_cast<unsigned>(t.size())))), pairs(t.size() - ranks) {
  bool const in_pair = t.rank() < 2 * pairs;
  participates = !in_pair || t.rank() % 2 == 1;
  partner = !in_pair ? -1 : participates ? t.rank() - 1 : t.rank() + 1;
  index = in_pair ? t.rank() / 2 : t.rank() - pairs;
}

bool recursive_doubling_allreduce(task& t) {
  return with_folded_ranks(t, [](task& of, folded_ranks const& folded) {
    while (of.all_complete()) {
      if (of.step > 0) {
        std::byte* const received = of.scratch.data();
        if (folded.index & 1 << (of.step - 1)) {
          combine(of.at.vectors, of.data, received, of.how);
        } else if (of.data.bytes() > 0) {  // this rank's elements are the left operand
          combine(of.at.vectors, {received, of.data.type, of.data.count}, of.data.data, of.how);
          std::memcpy(of.data.data, received, of.data.bytes());
        }
      }
      if (1 << of.step == folded.ranks) return true;
      int const other = folded.rank_at(folded.index ^ 1 << of.step);
      of.receive(other, {of.scratch.data(), of.data.bytes()});
      of.send(other, bytes_in(of.data));
      ++of.step;
    }
    return false;
  });
}

}  // namespace cohort::detail
