// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cohort/communicator/detail/texts_of_all.hpp>
#include <cohort/communicator/require_same.hpp>
#include <cohort/detail/text_table.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/tensor/finite.hpp>
#include <cohort/training/detail/scoped_consensus.hpp>
#include <cohort/training/detail/training_state.hpp>
#include <cohort/training/early_stopping_listener.hpp>
#include <utility>

namespace cohort {

early_stopping_listener::early_stopping_listener(metric judge, early_stopping_settings how)
    : metric_(std::move(judge)), how_(std::move(how)) {
  bool const has_metric = metric_.of || !metric_.name.empty();
  if (!has_metric || how_.patience < 1 || how_.every < 1 || !(how_.minimum_delta >= 0))
    throw setting_error({.what = "invalid early-stopping settings",
                         .where = "early_stopping_listener",
                         .expected = "a metric, patience ≥ 1, every ≥ 1 epoch, minimum_delta ≥ 0",
                         .got = {has_metric ? metric_.name : "no metric", ", patience ", how_.patience,
                                 ", every ", how_.every, ", minimum_delta ", how_.minimum_delta}});
  if (!how_.lines) how_.lines = silent_sink();
}

void early_stopping_listener::on_epoch(training& run, epoch_report const& done) {
  if (done.epoch <= last_epoch_) forget();
  last_epoch_ = done.epoch;
  has_stopped_ = false;
  if ((done.epoch + 1) % how_.every != 0) return;
  double const now = measured(run, done);
  bool const best = better(now);
  if (best) {
    best_ = now;
    best_epoch_ = done.epoch;
    checks_without_improvement_ = 0;
    if (how_.restore_best) {
      run.gather_parameters();
      detail::training_state& state = run.state();
      detail::scoped_consensus const evaluated(*state.exchange_strategy, state.current_replica(), 1, true);
      parameter_set const& all = run.parameters();
      std::size_t const bytes = static_cast<std::size_t>(all.elements()) * bytes_of(all.type());
      if (best_parameters_.bytes() != bytes) best_parameters_ = buffer(bytes);
      type_ = all.type();
      all.read_all(all.master(), best_parameters_.data());
    }
    if (how_.on_best) how_.on_best(run);
  } else if (++checks_without_improvement_ >= how_.patience) {
    should_stop_ = true;
    run.request({.stop = true});
  }
  if (run.world().rank() == 0) log_check(done.epoch, now, best);
}

void early_stopping_listener::on_vote(training&, votes const& all) {
  if (all.stop) restart();
}

void early_stopping_listener::restart() {
  if (!std::exchange(should_stop_, false)) return;
  checks_without_improvement_ = 0;
  has_stopped_ = true;
}

void early_stopping_listener::forget() {
  best_.reset();
  best_epoch_ = -1;
  checks_without_improvement_ = 0;
  should_stop_ = false;
  best_parameters_ = {};
}

void early_stopping_listener::on_end(training& run) {
  restart();
  if (run.epoch() <= best_epoch_) forget();
  if (!how_.restore_best || best_parameters_.bytes() == 0) return;
  parameter_set& all = run.parameters();
  if (type_ != all.type()
      || best_parameters_.bytes() != static_cast<std::size_t>(all.elements()) * bytes_of(all.type()))
    throw data_error({.what = "the best parameters are those of another network or element type",
                      .where = name(),
                      .expected = {all.elements(), " x ", name_of(all.type())},
                      .got = {best_parameters_.bytes() / bytes_of(type_), " x ", name_of(type_)}});
  all.write_all(best_parameters_.data(), all.master());
  all.mark_changed();
  run.state().restart_average();
  if (run.world().rank() == 0)
    how_.lines(
        detail::text_of({"the parameters are those after epoch ", best_epoch_ + 1, ", the best ones"}));
}

listener_array early_stopping_listener::array() const {
  return {type_, {best_parameters_.data(), best_parameters_.bytes()}};
}

void early_stopping_listener::restore_array(listener_array const& saved) {
  type_ = saved.type;
  best_parameters_ = buffer(saved.values.size());
  std::ranges::copy(saved.values, best_parameters_.data());
}

void early_stopping_listener::refuse(std::string known) const {
  throw setting_error(
      {.what = "fit does not compute the metric of the early stopping",
       .where = name(),
       .expected = {"fit with .validation = data",
                    metric_.name == metrics::loss.name ? "" : " and .metrics = {" + metric_.name + "}",
                    ", or a metric with its own data: .on(data)"},
       .got = known.empty() ? "no validation data" : std::move(known)});
}

void early_stopping_listener::check(fit_settings const& how) const {
  if (metric_.of) return;
  std::string known{how.validation ? metrics::loss.name : ""};
  bool computed = known == metric_.name;
  for (metric const& one : how.metrics) {
    computed |= one.name == metric_.name;
    if (one.name != metrics::loss.name) known += ", " + one.name;
  }
  if (!computed) refuse(std::move(known));
}

void early_stopping_listener::require_same_on_all_ranks(communicator& world, double now) const {
  if (world.size() == 1) return;
  std::vector<std::string> const all = detail::texts_of_all(world, name(), detail::text_of({now}));
  if (detail::are_equal(all)) return;
  throw setting_error({.what = "the metric differs between the ranks",
                       .where = name(),
                       .expected = "a function that returns the same number on every rank, for example the "
                                   "mean of all ranks",
                       .got = detail::by_rank(all)});
}

double early_stopping_listener::measured(training& run, epoch_report const& done) const {
  if (metric_.of) {
    double const now = metric_.of(run);
    require_same_on_all_ranks(run.world(), now);
    return now;
  }
  std::string known;
  for (metric_value const& one : done.validation) {
    if (one.name == metric_.name) return one.value;
    known += (known.empty() ? "" : ", ") + one.name;
  }
  refuse(std::move(known));
}

std::string early_stopping_listener::name() const { return "early stopping by " + metric_.name; }

std::string early_stopping_listener::settings() const {
  return detail::text_of({"every ", how_.every, ", patience ", how_.patience, ", minimum delta ",
                          how_.minimum_delta, how_.restore_best ? ", restore best" : ""});
}

std::string early_stopping_listener::state() const {
  std::string const seen =
      detail::text_of({best_epoch_, ' ', should_stop_ ? 0 : checks_without_improvement_});
  char digits[32];
  return best_ ? seen + ' ' + std::string(digits, std::to_chars(digits, digits + 32, *best_).ptr) : seen;
}

void early_stopping_listener::restore(std::string_view text) {
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
    throw data_error({.what = "cannot restore the saved state",
                      .where = name(),
                      .expected = "an epoch, a count and the best number",
                      .got = std::string(text)});
  best_epoch_ = last_epoch_ = epoch;
  checks_without_improvement_ = without;
  best_ = any ? std::optional(best) : std::nullopt;
}

bool early_stopping_listener::better(double now) const {
  if (!best_) return is_finite(now);
  return metric_.more_is_better ? now > *best_ + how_.minimum_delta : now < *best_ - how_.minimum_delta;
}

void early_stopping_listener::log_check(std::int64_t epoch, double now, bool best) const {
  std::string line =
      detail::text_of({"epoch ", epoch + 1, ": ", metric_.name, " ", detail::decimal_text(now, 4)});
  if (best)
    line += ", the best so far";
  else if (best_)
    line += detail::text_of(
        {", not better than ", detail::decimal_text(*best_, 4), " after epoch ", best_epoch_ + 1});
  if (should_stop_) line += ": stopping";
  how_.lines(line);
}

}  // namespace cohort
