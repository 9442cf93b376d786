// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/strategy/allreduce.hpp>
#include <cohort/strategy/detail/synchronous_sharing.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort::detail {

/// Shares gradients: all ranks take one step with the mean of the gradients' sent parts. The first `warm_up`
/// steps use allreduce.
///
/// With a staleness of s, the first s steps of an epoch apply nothing, and the messages of the last s steps
/// are returned to the residuals.
template <class Make>
class gradient_sharing final : public synchronous_sharing<Make> {
  using base = synchronous_sharing<Make>;

 public:
  gradient_sharing(std::unique_ptr<communicator> world, sharing_settings const& settings, std::string text,
                   Make make)
      : base(std::move(world), settings, combination::weighted_mean, std::move(text), std::move(make)) {}

  void begin(step_info const& now, replica const& mine) override {
    this->prepare(mine);
    if (this->is_dense(now) && !dense_) {
      dense_ = allreduce{.resync = 0}.on(this->world());
      dense_->restore({});  // the replica has been broadcast already
    }
    if (!this->is_dense(now) && dense_) {
      this->exchange().add_times(dense_->report());
      dense_.reset();
    }
    if (dense_) dense_->begin(now, mine);
  }

  void ready(step_info const& now, bucket const& one, gradient_parts& gradients) override {
    if (dense_) return dense_->ready(now, one, gradients);
    gradients.sum(one);
    this->elements().read(gradients.parameters(), one.first_parameter, one.first_parameter + one.parameters,
                          gradients.first(), this->exchange().mine().span());
  }

  bool before_update(step_info const& now, gradient_parts& gradients) override {
    if (dense_) {
      bool const applies = dense_->before_update(now, gradients);
      agreement const& met = *dense_->agreed();
      this->exchange().count_dense_step();
      this->agreed_ = {this->agreed_.meetings + 1, met.examples, met.weight, met.all};
      return applies;
    }
    if (!this->exchange_step(now)) return false;
    f32_buffer& sum = this->exchange().all();
    if (this->staleness_factor() != 1) sum.scale(static_cast<float>(this->staleness_factor()));
    this->elements().write(gradients.parameters(), sum.span(), gradients.first());
    if (now.mine.not_finite) gradients.statistics().clear();
    return true;
  }

  void after_update(step_info const& now, replica const& mine, bool updated) override {
    if (updated && !dense_) this->count_own_statistics(mine, now.mine.not_finite ? 0 : now.examples);
  }

  void end_of_epoch(step_info const& now, replica const& mine) override {
    votes pending{};
    while (this->has_pending(mine)) {
      this->finish_oldest(false);
      pending |= this->agreed_.all;
    }
    this->agreed_.all |= pending;
    base::end_of_epoch(now, mine);
  }

  std::function<std::unique_ptr<strategy>(communicator&)> renewal() const override {
    if (this->settings_.max_staleness > 0 || this->settings_.sync_buffers > 0) return {};
    return [settings = this->settings_, text = this->text_, make = this->make_](communicator& world) {
      auto next = std::make_unique<gradient_sharing>(world.duplicate(), settings, text, make);
      next->set_elastic();
      return next;
    };
  }

  std::vector<measurement> report() const override {
    return dense_ ? this->exchange().report(dense_->report()) : base::report();
  }
  exchange_times last_exchange() const override {
    return dense_ ? dense_->last_exchange() : base::last_exchange();
  }
  void abandon(std::string_view why) noexcept override {
    if (dense_) dense_->abandon(why);
    base::abandon(why);
  }

 private:
  std::unique_ptr<strategy> dense_;  // allreduce in the `warm_up` steps; null in other steps
};

}  // namespace cohort::detail
