// SPDX-License-Identifier: Apache-2.0
#include <cohort/cudnn/detail/compute_stream.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/nccl.hpp>
#include <cstdint>
#include <utility>

namespace cohort {

nccl::nccl(communicator& world, detail::library_source const& from) : nccl(world.duplicate(), nullptr) {
  try {
    family_ = std::make_shared<detail::nccl_family>(from);
  } catch (backend_error const& why) {
    why_not_ = why.what();
  }
  if (!family_ && settings().log)
    settings().log(
        detail::text_of({"rank ", rank(), " cannot use NCCL, so all ranks sum in host memory: ", why_not_}));
  std::uint8_t lacks = family_ ? 0 : 1;
  over_->allreduce(std::span(&lacks, 1), reduction::maximum);
  if (lacks == 0) return;
  if (family_) why_not_ = "another rank cannot load NCCL";
  family_.reset();
}

nccl::~nccl() {
  sums_.clear();
  if (ranks_) family_->retire(std::move(ranks_));
}

bool nccl::sums_in(memory_space const& space) const {
  return family_ && dynamic_cast<detail::compute_stream const*>(&space);
}

pending_operation nccl::start_allreduce(elements data, reduction how) {
  if (!data.space) return over_->start_allreduce(data, how);
  auto const* const computed = dynamic_cast<detail::compute_stream const*>(data.space);
  if (!family_ || !computed)
    throw setting_error({.what = "this communicator cannot sum arrays in this memory",
                         .where = name_,
                         .expected = family_ ? "GPU memory" : "host memory",
                         .got = family_ ? "memory of another device" : "device memory, but " + why_not_});
  std::lock_guard const lock(mutex_);
  if (!ranks_)
    ranks_ = std::make_shared<detail::nccl_ranks>(family_->functions(), over_, computed->shared_device());
  std::shared_ptr<detail::gpu_sum> const one = acquire_sum();
  one->start(data, how, *computed);
  auto const ranks = static_cast<std::uint64_t>(size());
  family_->bytes_sent += 2 * (ranks - 1) * data.bytes() / ranks;
  ++family_->sums_started;
  return pending_operation(one);
}

pending_operation nccl::start_reduce_scatter(elements data, reduction how) {
  return over_->start_reduce_scatter(data, how);
}

pending_operation nccl::start_allgatherv(std::span<std::byte const> mine, gathered& all) {
  return over_->start_allgatherv(mine, all);
}

pending_operation nccl::start_send(std::span<std::byte const> data, int to, int tag) {
  return over_->start_send(data, to, tag);
}

pending_operation nccl::start_receive(std::span<std::byte> data, int from, int tag) {
  return over_->start_receive(data, from, tag);
}

std::unique_ptr<communicator> nccl::split(int color, int order) {
  return std::unique_ptr<nccl>(new nccl(over_->split(color, order), family_, why_not_));
}

std::unique_ptr<communicator> nccl::duplicate() {
  return std::unique_ptr<nccl>(new nccl(over_->duplicate(), family_, why_not_));
}

int nccl::abort(std::string const& why, int exit_status) noexcept {
  int const first = over_->abort(why, exit_status);  // a thread that is starting a sum releases the mutex
  if (std::lock_guard const lock(mutex_); ranks_) ranks_->abort();
  return first;
}

traffic nccl::sent() const {
  traffic all = over_->sent();
  if (!family_) return all;
  all.bytes_sent += family_->bytes_sent;
  all.messages_sent += family_->sums_started;
  return all;
}

nccl::nccl(std::unique_ptr<communicator> over, std::shared_ptr<detail::nccl_family> family,
           std::string why_not)
    : over_(std::move(over)),
      family_(std::move(family)),
      why_not_(std::move(why_not)),
      name_("nccl over " + std::string(over_->name())) {}

std::shared_ptr<detail::gpu_sum> nccl::acquire_sum() {
  for (std::shared_ptr<detail::gpu_sum> const& one : sums_)
    if (one.use_count() == 1 && one->done()) return one;
  return sums_.emplace_back(std::make_shared<detail::gpu_sum>(ranks_));
}

}  // namespace cohort
