// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <cohort/cudnn/detail/compute_stream.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/nccl/detail/gpu_sum.hpp>
#include <cohort/nccl/detail/nccl_family.hpp>
#include <cohort/nccl/detail/nccl_ranks.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort {

/// Another communicator, where sums of what lies in GPUs' memory go from GPU to GPU, by NCCL, beside what these compute. All else goes as
/// it did. Where a rank cannot load NCCL, all goes as it did on all ranks, and a line of that rank says why.
///
///     nccl ranks(world);
///     auto run = trainer<cudnn>(net, ranks, allreduce{}, settings);
///
/// Order     made collectively. NCCL's own ranks are joined at the first sum of each relative.
/// Before    each rank has a GPU of its own (CUDA_VISIBLE_DEVICES); a communicator's arrays are those of one backend object.
/// Moves     for a sum of n bytes 2(P-1)/P n a rank, as a ring does and as `sent` counts; NCCL chooses the way.
/// Exact     equal on every rank; the order of a sum is NCCL's.
/// Errors    communicator_error on every rank where NCCL fails or a sum outlasts the deadline, at the latest after twice the deadline;
///           setting_error where two ranks have the same GPU.
class nccl final : public communicator {
 public:
  explicit nccl(communicator& world, detail::library_source const& from = detail::system_libraries())
      : nccl(world.duplicate(), nullptr) {
    try {
      family_ = std::make_shared<detail::nccl_family>(from);
    } catch (backend_error const& why) {
      why_not_ = why.what();
    }
    if (!family_ && settings().log)
      settings().log(detail::text_of({"rank ", rank(), " has no sums between GPUs: ", why_not_}));
    std::uint8_t lacks = family_ ? 0 : 1;
    over_->allreduce(std::span(&lacks, 1), reduction::maximum);
    if (lacks == 0) return;
    if (family_) why_not_ = "another rank cannot load NCCL";
    family_.reset();
  }
  ~nccl() override {
    sums_.clear();
    if (ranks_) family_->leave_behind(std::move(ranks_));
  }

  /// Why sums do not go between GPUs; empty: they do.
  std::string const& why_not() const { return why_not_; }

  std::string_view name() const override { return name_; }
  int rank() const override { return over_->rank(); }
  int size() const override { return over_->size(); }
  communicator_settings const& settings() const override { return over_->settings(); }

  bool sums_in(memory_space const& space) const override {
    return family_ && dynamic_cast<detail::compute_stream const*>(&space);
  }
  request start_allreduce(elements data, reduction how) override {
    if (!data.space) return over_->start_allreduce(data, how);
    auto const* const computed = dynamic_cast<detail::compute_stream const*>(data.space);
    if (!family_ || !computed)
      throw setting_error({.what = "sums do not reach this memory",
                           .where = name_,
                           .expected = family_ ? "a GPU's" : "the processor's",
                           .got = family_ ? "another device's" : why_not_});
    std::lock_guard const lock(mutex_);
    if (!ranks_)
      ranks_ = std::make_shared<detail::nccl_ranks>(family_->functions(), over_, computed->shared_device());
    std::shared_ptr<detail::gpu_sum> const one = unused_sum();
    one->start(data, how, *computed);
    auto const ranks = static_cast<std::uint64_t>(size());
    family_->bytes_sent += 2 * (ranks - 1) * data.bytes() / ranks;
    ++family_->sums_started;
    return request(one);
  }

  request start_broadcast(elements data, int root) override { return over_->start_broadcast(data, root); }
  request start_reduce_scatter(elements data, reduction how) override {
    return over_->start_reduce_scatter(data, how);
  }
  request start_allgather(elements data) override { return over_->start_allgather(data); }
  request start_allgatherv(std::span<std::byte const> mine, gathered& all) override {
    return over_->start_allgatherv(mine, all);
  }
  request start_barrier() override { return over_->start_barrier(); }
  request start_send(std::span<std::byte const> data, int to, int tag) override {
    return over_->start_send(data, to, tag);
  }
  request start_receive(std::span<std::byte> data, int from, int tag) override {
    return over_->start_receive(data, from, tag);
  }
  std::optional<arrival> probe(int from, int tag) override { return over_->probe(from, tag); }
  arrival wait_for_message(int from, int tag) override { return over_->wait_for_message(from, tag); }

  std::unique_ptr<communicator> split(int color, int order) override {
    return std::unique_ptr<nccl>(new nccl(over_->split(color, order), family_, why_not_));
  }
  std::unique_ptr<communicator> duplicate() override {
    return std::unique_ptr<nccl>(new nccl(over_->duplicate(), family_, why_not_));
  }

  void abort(std::string const& why) noexcept override {
    over_->abort(why);  // who starts a sum lets go
    if (std::lock_guard const lock(mutex_); ranks_) ranks_->leave();
  }
  void note(rank_progress here) noexcept override { over_->note(here); }
  traffic sent() const override {
    traffic all = over_->sent();
    if (!family_) return all;
    all.bytes_sent += family_->bytes_sent;
    all.messages_sent += family_->sums_started;
    return all;
  }

 private:
  nccl(std::unique_ptr<communicator> over, std::shared_ptr<detail::nccl_family> family,
       std::string why_not = {})
      : over_(std::move(over)),
        family_(std::move(family)),
        why_not_(std::move(why_not)),
        name_("nccl over " + std::string(over_->name())) {}

  /// One that nobody holds, and that is done.
  std::shared_ptr<detail::gpu_sum> unused_sum() {
    for (std::shared_ptr<detail::gpu_sum> const& one : sums_)
      if (one.use_count() == 1 && one->done()) return one;
    return sums_.emplace_back(std::make_shared<detail::gpu_sum>(ranks_));
  }

  std::shared_ptr<communicator> over_;
  std::shared_ptr<detail::nccl_family> family_;  // null where sums do not go between GPUs
  std::string why_not_, name_;
  std::mutex mutex_;
  std::shared_ptr<detail::nccl_ranks> ranks_;
  std::vector<std::shared_ptr<detail::gpu_sum>> sums_;
};

}  // namespace cohort
