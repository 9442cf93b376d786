// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cohort/communicator/detail/texts_of_all.hpp>
#include <cohort/communicator/elastic_communicator.hpp>
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
  bool const is_repeatable = dynamic_cast<elastic_communicator const*>(&run.world()) != nullptr;
  begin_epoch(is_repeatable, done.epoch);
  has_stopped_ = false;
  if ((done.epoch + 1) % how_.every != 0) return;
  double const now = measured(run, done);
  bool const best = better(now);
  if (best) {
    if (how_.restore_best) copy_parameters(run);
    count_.best = now;
    count_.best_epoch = done.epoch;
    count_.without_improvement = 0;
    if (how_.on_best) how_.on_best(run);
  } else if (++count_.without_improvement >= how_.patience) {
    count_.should_stop = true;
    run.request({.stop = true});
  }
  if (run.world().rank() == 0) log_check(done.epoch, now, best);
}

/// If the epoch is repeated, restores the count before it.
void early_stopping_listener::begin_epoch(bool is_repeatable, std::int64_t epoch) {
  if (before_ && epoch == last_epoch_)
    count_ = *before_;
  else if (epoch <= last_epoch_)
    forget();
  before_ = is_repeatable ? std::optional(count_) : std::nullopt;
  last_epoch_ = epoch;
}

/// Copies the parameters to a slot that `before_` does not need.
void early_stopping_listener::copy_parameters(training& run) {
  run.gather_parameters();
  detail::training_state& state = run.state();
  detail::scoped_consensus const evaluated(*state.exchange_strategy, state.current_replica(), 1, true);
  parameter_set const& all = run.parameters();
  std::size_t const bytes = static_cast<std::size_t>(all.elements()) * bytes_of(all.type());
  int const former = before_ ? before_->slot : -1, slots = before_ ? 2 : 1;
  if (parameters_.bytes() != bytes * static_cast<std::size_t>(slots)) {
    buffer grown(bytes * static_cast<std::size_t>(slots));
    if (former >= 0)
      std::copy_n(parameters_.data(), std::min(parameters_.bytes(), grown.bytes()), grown.data());
    parameters_ = std::move(grown);
  }
  slots_ = slots;
  type_ = all.type();
  count_.slot = former == 0 ? 1 : 0;
  all.read_all(all.master(), parameters_.data() + static_cast<std::size_t>(count_.slot) * bytes);
}

void early_stopping_listener::on_vote(training&, votes const& all) {
  if (all.stop) restart();
}

void early_stopping_listener::restart() {
  if (!std::exchange(count_.should_stop, false)) return;
  count_.without_improvement = 0;
  has_stopped_ = true;
}

void early_stopping_listener::forget() {
  count_ = {};
  before_.reset();
  parameters_ = {};
}

void early_stopping_listener::on_end(training& run) {
  restart();
  if (run.epoch() <= count_.best_epoch) forget();
  if (!how_.restore_best || count_.slot < 0) return;
  parameter_set& all = run.parameters();
  std::size_t const bytes = parameters_.bytes() / static_cast<std::size_t>(slots_);
  if (type_ != all.type() || bytes != static_cast<std::size_t>(all.elements()) * bytes_of(all.type()))
    throw data_error({.what = "the best parameters are those of another network or element type",
                      .where = name(),
                      .expected = {all.elements(), " x ", name_of(all.type())},
                      .got = {bytes / bytes_of(type_), " x ", name_of(type_)}});
  all.write_all(parameters_.data() + static_cast<std::size_t>(count_.slot) * bytes, all.master());
  all.mark_changed();
  run.state().restart_average();
  if (run.world().rank() == 0)
    how_.lines(
        detail::text_of({"the parameters are those after epoch ", count_.best_epoch + 1, ", the best ones"}));
}

listener_array early_stopping_listener::array() const {
  if (count_.slot < 0) return {type_, {}};
  std::span<std::byte const> const all(parameters_.data(), parameters_.bytes());
  if (before_ && before_->slot >= 0 && before_->slot != count_.slot) return {type_, all};
  std::size_t const bytes = all.size() / static_cast<std::size_t>(slots_);
  return {type_, all.subspan(static_cast<std::size_t>(count_.slot) * bytes, bytes)};
}

void early_stopping_listener::restore_array(listener_array const& saved) {
  type_ = saved.type;
  parameters_ = buffer(saved.values.size());
  std::ranges::copy(saved.values, parameters_.data());
  bool const has_both = before_ && before_->slot >= 0 && before_->slot != count_.slot;
  slots_ = has_both && !saved.values.empty() ? 2 : 1;
  if (slots_ == 2) return;
  int const slot = saved.values.empty() ? -1 : 0;
  count_.slot = slot;
  if (before_) before_->slot = std::min(before_->slot, slot);
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

std::string early_stopping_listener::text_of(check_count const& count) {
  std::string const seen =
      detail::text_of({count.best_epoch, ' ', count.should_stop ? 0 : count.without_improvement});
  char digits[32];
  return count.best ? seen + ' ' + std::string(digits, std::to_chars(digits, digits + 32, *count.best).ptr)
                    : seen;
}

std::string early_stopping_listener::state() const {
  std::string const count = text_of(count_);
  if (!before_) return count;
  return detail::text_of(
      {count, "; ", last_epoch_, ' ', count_.slot, ' ', before_->slot, ' ', text_of(*before_)});
}
void early_stopping_listener::restore(std::string_view text) {
  char const *at = text.data(), *const end = at + text.size();
  bool good = true;
  auto const read = [&](auto& number) {
    auto const [after, failure] = std::from_chars(at, end, number);
    good = good && failure == std::errc{} && (after == end || *after == ' ' || *after == ';');
    at = after == end || *after == ';' ? after : after + 1;
  };
  auto const read_count = [&](check_count& count) {
    read(count.best_epoch);
    read(count.without_improvement);
    bool const any = at != end && *at != ';';
    if (any) read(count.best.emplace());
    good = good && count.without_improvement >= 0 && any == (count.best_epoch >= 0);
  };
  check_count count, former;
  read_count(count);
  std::int64_t last_epoch = count.best_epoch;
  bool const is_repeatable = good && at != end;
  if (is_repeatable) {
    at = std::min(at + 2, end);  // "; "
    read(last_epoch);
    read(count.slot);
    read(former.slot);
    read_count(former);
    good = good && std::max(count.slot, former.slot) <= 1 && std::min(count.slot, former.slot) >= -1
           && (former.slot < 0 || count.slot >= 0) && last_epoch >= count.best_epoch;
  }
  if (!good || at != end)
    throw data_error({.what = "cannot restore the saved state",
                      .where = name(),
                      .expected = "an epoch, a count and the best number",
                      .got = std::string(text)});
  count_ = count;
  before_ = is_repeatable ? std::optional(former) : std::nullopt;
  last_epoch_ = last_epoch;
}

bool early_stopping_listener::better(double now) const {
  if (!count_.best) return is_finite(now);
  return metric_.more_is_better ? now > *count_.best + how_.minimum_delta
                                : now < *count_.best - how_.minimum_delta;
}

void early_stopping_listener::log_check(std::int64_t epoch, double now, bool best) const {
  std::string line =
      detail::text_of({"epoch ", epoch + 1, ": ", metric_.name, " ", detail::decimal_text(now, 4)});
  if (best)
    line += ", the best so far";
  else if (count_.best)
    line += detail::text_of({", not better than ", detail::decimal_text(*count_.best, 4), " after epoch ",
                             count_.best_epoch + 1});
  if (count_.should_stop) line += ": stopping";
  how_.lines(line);
}

}  // namespace cohort
