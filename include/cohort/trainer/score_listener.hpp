// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/error/exceptions.hpp>
#include <cohort/execution/detail/text_table.hpp>
#include <cohort/execution/sink.hpp>
#include <cohort/trainer/listener.hpp>
#include <cstdint>
#include <string>
#include <utility>

namespace cohort {

/// Says the loss every `every` steps: "step 200: loss 0.3121".
///
/// Units     the mean over the examples since the line before; steps that are done, counted over all epochs.
/// Errors    setting_error if `every` is not positive.
class score_listener final : public listener {
 public:
  explicit score_listener(std::int64_t every = 100, sink to = stderr_sink())
      : every_(every), to_(to ? std::move(to) : silent_sink()) {
    if (every < 1)
      throw setting_error({.what = "the loss cannot be said that often",
                           .where = "score_listener",
                           .expected = "every 1 step or more",
                           .got = {every}});
  }

  void on_step(training&, step_report const& done) override {
    loss_ += done.loss * done.examples;
    examples_ += done.examples;
    if (++steps_ < every_) return;
    to_("step " + std::to_string(done.step + 1) + ": loss "
        + detail::decimal_text(loss_ / static_cast<double>(examples_), 4));
    steps_ = examples_ = 0;
    loss_ = 0;
  }

 private:
  std::int64_t every_;
  sink to_;
  std::int64_t steps_ = 0;
  std::int64_t examples_ = 0;
  double loss_ = 0;
};

}  // namespace cohort
