// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <charconv>
#include <cohort/error/exceptions.hpp>
#include <cohort/execution/detail/text_table.hpp>
#include <cohort/execution/sink.hpp>
#include <cohort/tensor/finite.hpp>
#include <cohort/trainer/metric.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cohort {

/// Units     `patience` counts looks without improvement, `every` epochs from look to look; `minimum_delta`: a number is
///           better if it is by more than that.
/// Order     `on_best` is called on every rank after each look that was the best so far: to save the model, for example.
struct early_stopping_settings {
  int patience = 5;
  double minimum_delta = 0;
  int every = 1;
  std::function<void(training&)> on_best{};
  sink lines = stderr_sink();
};

/// Looks at a metric after each epoch, and ends the run when it has not become better for a while.
///
///     early_stopping_listener stopping(accuracy_on(held), {.patience = 3, .on_best = [](training& run) { run.save("best"); }});
///
/// Order     collective: every rank has one with the same settings.
/// After     all ranks agree on the stop when they meet next: fit returns with `stopped` a few steps into the epoch that
///           follows. The parameters are the last ones, not the best: on_best has seen those.
///           Checkpoints keep what it has seen: a run that is resumed counts on.
/// Errors    setting_error for settings that make no sense.
class early_stopping_listener final : public listener {
 public:
  explicit early_stopping_listener(metric judge, early_stopping_settings how = {})
      : judge_(std::move(judge)), how_(std::move(how)) {
    if (!judge_.of || how_.patience < 1 || how_.every < 1 || !(how_.minimum_delta >= 0))
      throw setting_error({.what = "a run cannot be stopped like that",
                           .where = "early_stopping_listener",
                           .expected = "a metric, patience ≥ 1, every ≥ 1 epoch, minimum_delta ≥ 0",
                           .got = {judge_.of ? judge_.name : "no metric", ", patience ", how_.patience,
                                   ", every ", how_.every, ", minimum_delta ", how_.minimum_delta}});
    if (!how_.lines) how_.lines = silent_sink();
  }

  void on_epoch(training& run, epoch_report const& done) override {
    if ((done.epoch + 1) % how_.every != 0) return;
    double const now = judge_.of(run);
    bool const best = better(now);
    if (best) {
      best_ = now;
      best_epoch_ = done.epoch;
      without_ = 0;
      if (how_.on_best) how_.on_best(run);
    } else if (++without_ >= how_.patience) {
      over_ = true;
    }
    if (run.world().rank() == 0) say(done.epoch, now, best);
  }
  void on_step(training& run, step_report const&) override {
    if (over_) run.request({.stop = true});
  }
  /// A further fit begins to count anew, unless somebody else has ended this one.
  void on_vote(training&, votes const& all) override {
    if (!all.stop || !over_) return;
    over_ = false;
    without_ = 0;
  }

  std::string name() const override { return "early stopping by " + judge_.name; }
  /// "4 2 0.75": the best one's epoch, looks without improvement, the best.
  std::string state() const override {
    std::string const seen = detail::text_of({best_epoch_, ' ', over_ ? 0 : without_});
    char digits[32];
    return best_ ? seen + ' ' + std::string(digits, std::to_chars(digits, digits + 32, *best_).ptr) : seen;
  }
  void restore(std::string_view text) override {
    char const *at = text.data(), *const end = at + text.size();
    bool good = true;
    auto const read = [&](auto& number) {
      auto const [after, failure] = std::from_chars(at, end, number);
      good = good && failure == std::errc{} && (after == end || *after == ' ');
      at = after == end ? end : after + 1;
    };
    std::int64_t epoch = -1;
    int without = 0;
    double best = 0;
    read(epoch);
    read(without);
    bool const any = at != end;
    if (any) read(best);
    if (!good || at != end || without < 0 || any != (epoch >= 0))
      throw data_error({.what = "cannot go on from what was saved",
                        .where = name(),
                        .expected = "an epoch, a count and the best number",
                        .got = std::string(text)});
    best_epoch_ = epoch;
    without_ = without;
    best_ = any ? std::optional(best) : std::nullopt;
  }

  /// Empty before the first look.
  std::optional<double> best() const { return best_; }
  /// The epoch, counted from 0, after which it was seen.
  std::int64_t best_epoch() const { return best_epoch_; }

 private:
  bool better(double now) const {
    if (!best_) return is_finite(now);
    return judge_.more_is_better ? now > *best_ + how_.minimum_delta : now < *best_ - how_.minimum_delta;
  }
  void say(std::int64_t epoch, double now, bool best) const {
    std::string line =
        detail::text_of({"epoch ", epoch + 1, ": ", judge_.name, " ", detail::decimal_text(now, 4)});
    if (best)
      line += ", the best so far";
    else if (best_)
      line += detail::text_of(
          {", not better than ", detail::decimal_text(*best_, 4), " after epoch ", best_epoch_ + 1});
    if (over_) line += ": stopping";
    how_.lines(line);
  }

  metric judge_;
  early_stopping_settings how_;
  std::optional<double> best_{};
  std::int64_t best_epoch_ = -1;
  int without_ = 0;
  bool over_ = false;
};

}  // namespace cohort
