// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/execution/partition.hpp>
#include <cohort/training/detail/synchronised_sums.hpp>
#include <cstring>
#include <string>
#include <utility>

namespace cohort::detail {

synchronised_sums::synchronised_sums(team& workers, plan_sums sizes, std::unique_ptr<communicator> world)
    : team_(workers), world_(std::move(world)), sizes_(std::move(sizes)) {
  int const mine = team_.size();
  for (int w = 0; w < mine; ++w) parts_.emplace_back(*this, w);
  workers_by_rank_.assign(static_cast<std::size_t>(world_ ? world_->size() : 1), mine);
  if (!world_) return;
  gathered const all = world_->allgatherv(std::as_bytes(std::span(&mine, 1)));
  std::memcpy(workers_by_rank_.data(), all.bytes.data(), workers_by_rank_.size() * sizeof(int));
}

int synchronised_sums::rounds(std::int64_t examples, int micro_batches) const {
  if (examples < 1) return micro_batches;
  std::int64_t most = 0;
  auto const ranks = static_cast<int>(workers_by_rank_.size());
  for (int r = 0; r < ranks; ++r)
    most = std::max(
        most,
        part_of(part_of({0, examples}, r, ranks), 0, workers_by_rank_[static_cast<std::size_t>(r)]).count);
  return static_cast<int>(std::min<std::int64_t>(most, micro_batches));
}

void synchronised_sums::abandon(std::string_view why) noexcept {
  if (world_) world_->abort(std::string(why));
}

void synchronised_sums::part::sum(std::span<double> values) {
  values_ = values;
  all_->sum(worker_, values);
}

void synchronised_sums::part::add_zeros(int count) {
  zeros_.assign(static_cast<std::size_t>(count), 0.0);
  sum(zeros_);
}

void synchronised_sums::join(int worker, std::vector<int> const& sizes) {
  for (int const size : sizes) parts_[static_cast<std::size_t>(worker)].add_zeros(size);
}

void synchronised_sums::sum(int worker, std::span<double> values) {
  team_.barrier(worker);
  if (worker == 0) {
    total_.assign(values.begin(), values.end());
    for (std::size_t w = 1; w < parts_.size(); ++w)
      for (std::size_t i = 0; i < total_.size(); ++i) total_[i] += parts_[w].values()[i];
    if (world_) world_->allreduce(std::span<double>(total_), reduction::sum);
  }
  team_.barrier(worker);
  std::copy(total_.begin(), total_.end(), values.begin());
}

}  // namespace cohort::detail
