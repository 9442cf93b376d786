// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/detail/random_number.hpp>
#include <cohort/strategy/detail/process_group.hpp>
#include <cstddef>
#include <cstring>

namespace cohort::detail {

std::uint64_t random_process_id() {
  if (process_id == 0) {
    std::uint64_t none = 0;
    process_id.compare_exchange_strong(none, random_number());
  }
  return process_id;
}

process_group::process_group(communicator& world, std::uint64_t number) : world_(world) {
  gathered const all = world.allgatherv(std::as_bytes(std::span(&number, 1)));
  auto const first_equal = [&](int rank) {
    int r = 0;
    while (!std::ranges::equal(all.of(r), all.of(rank))) ++r;
    return r;
  };
  groups_ = 0;
  for (int r = 0; r < world.size(); ++r) groups_ += first_equal(r) == r ? 1 : 0;
  if (groups_ == world.size()) return;
  int const first = first_equal(world.rank());
  members_ = world.split(first, 0);
  leaders_ = world.split(first == world.rank() ? 0 : 1, 0);
}

void process_group::sum(std::span<float> x, step_info& now, bool unweighted) const {
  if (!members_) return;
  bool const finite = !now.mine.not_finite;
  double words[]{static_cast<double>(now.examples), now.weight, now.mine.stop ? 1.0 : 0.0,
                 now.mine.save ? 1.0 : 0.0, now.mine.not_finite ? 1.0 : 0.0};
  members_->allreduce(std::span<double>(words));
  double const factor = unweighted || words[1] == 0 ? 1 : now.weight / words[1];
  now.examples = static_cast<int>(words[0]);
  now.weight = words[1];
  now.mine = {.stop = words[2] > 0, .save = words[3] > 0, .not_finite = words[4] > 0};
  if (!finite || factor == 0)
    std::ranges::fill(x, 0.0F);
  else if (factor != 1)
    for (float& one : x) one *= static_cast<float>(factor);
  members_->allreduce(x);
}

void process_group::broadcast(agreement& agreed, std::span<float> x) const {
  if (!members_) return;
  std::byte words[sizeof agreed];
  std::memcpy(words, &agreed, sizeof agreed);
  members_->broadcast({words, element_type::u8, sizeof words}, 0);
  std::memcpy(&agreed, words, sizeof agreed);
  if (!agreed.all.not_finite) members_->broadcast(x, 0);
}

void process_group::reduce_to_leader(std::span<float> x) const {
  if (!members_) return;
  members_->allreduce(x);
  if (!is_leader()) std::ranges::fill(x, 0.0F);
}

}  // namespace cohort::detail
