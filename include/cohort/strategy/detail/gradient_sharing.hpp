// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/strategy/detail/sharing_strategy.hpp>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace cohort::detail {

/// Shares gradients: all ranks take one step with the mean of what was sent. The first `warm_up` steps are allreduce's.
///
/// Late, the first steps of an epoch take nothing, and what its last ones have sent goes back into the residuals.
template <class Make>
class gradient_sharing final : public sharing_strategy<Make> {
 public:
  gradient_sharing(std::unique_ptr<communicator> world, sharing_settings const& how, std::string text,
                   Make make)
      : sharing_strategy<Make>(std::move(world), how, combined::weighted_mean, std::move(text),
                               std::move(make)) {}

  void begin(step_info const& now, replica const& mine) override {
    this->prepare(mine);
    if (this->is_dense(now) && !dense_) {
      dense_.emplace(this->world().duplicate(), allreduce{.resync = 0});
      dense_->restore({});  // nothing has to be broadcast again
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
      bool const taken = dense_->before_update(now, gradients);
      agreement const& met = *dense_->agreed();
      this->exchange().count_dense();
      this->agreed_ = {this->agreed_.meetings + 1, met.examples, met.weight, met.all};
      return taken;
    }
    if (!this->share(now)) return false;
    f32_buffer& taken = this->exchange().all();
    if (this->factor() != 1) taken.scale(static_cast<float>(this->factor()));
    this->elements().write(gradients.parameters(), taken.span(), gradients.first());
    if (now.examples == 0 || now.mine.not_finite) keep_statistics(gradients);
    return true;
  }

  void after_update(step_info const& now, replica const& mine, bool updated) override {
    if (updated && !dense_) this->follow_statistics(now, mine, now.mine.not_finite ? 0 : now.examples);
  }

  void end_of_epoch(step_info const& now, replica const& mine) override {
    votes heard{};
    while (this->has_waiting(mine)) {
      this->finish_waiting(false);
      heard |= this->agreed_.all;
    }
    this->agreed_.all |= heard;
    sharing_strategy<Make>::end_of_epoch(now, mine);
  }

  std::vector<measurement> report() const override {
    return dense_ ? this->exchange().report(dense_->report()) : sharing_strategy<Make>::report();
  }
  exchange_times last_exchange() const override {
    return dense_ ? dense_->last_exchange() : sharing_strategy<Make>::last_exchange();
  }
  void abandon(std::string_view why) noexcept override {
    if (dense_) dense_->abandon(why);
    sharing_strategy<Make>::abandon(why);
  }

 private:
  /// Of a rank without examples, or whose numbers are not finite: a shift of 0 and a spread of the variance leave both as they are, to
  /// rounding.
  static void keep_statistics(gradient_parts& gradients) {
    parameter_set const& parameters = gradients.parameters();
    each_statistic(parameters, [&](int, parameter const& one) {
      std::size_t const width = bytes_of(parameters.type()), begin = one.offset * width;
      if (one.spec.role == parameter_role::running_variance)
        parameters.passes().copy(parameters.master() + begin, gradients.first() + begin, one.room * width);
      else
        parameters.passes().fill(gradients.first(), one.offset, one.room, 0);
    });
  }

  std::optional<allreduce_strategy> dense_;
};

}  // namespace cohort::detail
