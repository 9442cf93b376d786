// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/config.hpp>
#include <cohort/error/detail/text.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/tensor/finite.hpp>
#include <cohort/trainer/detail/fit_loop.hpp>
#include <cohort/trainer/detail/fit_memory.hpp>
#include <cohort/trainer/detail/notify_on_failure.hpp>
#include <cohort/trainer/detail/run_checks.hpp>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace cohort::detail {

COHORT_CORE_INLINE fit_loop::fit_loop(training& run, training_state& state, dataset const& data,
                                      fit_settings const& how)
    : run_(run), state_(state), how_(how), enclosing_(state.active_fit), last_step_(state.position.step) {
  check_ranks(state, data, how);
  check_batch(how);
  if (how.epochs < 0)
    throw setting_error({.what = "the number of epochs is negative",
                         .where = "fit",
                         .expected = "at least 0",
                         .got = {how.epochs}});
  check_dataset(state.net, state.element(), data);
  auto const made =
      state.workers->plan_for({.examples = state.workers->micro_batch_size(how.batch, how.accumulate),
                               .accumulates = how.accumulate > 1});
  connect_layer_sums(*made);
  log_memory(state, *made, data, how);
  communicator& world = *state.world;
  data_ = std::make_shared<step_data>(data,
                                      loader_settings{.batch = how.batch,
                                                      .rank = world.rank(),
                                                      .ranks = world.size(),
                                                      .seed = state.settings.seed,
                                                      .shuffle = how.shuffle,
                                                      .prefetch = how.prefetch,
                                                      .readers = how.readers,
                                                      .deadline = state.settings.deadline,
                                                      .local_sizes = local_sizes(world, data, how.sharding)});
  std::vector<std::string> const keys = keys_of(how.listeners);
  for (auto const& [key, saved] : std::exchange(state.saved_listeners, {}))
    for (std::size_t i = 0; i < keys.size(); ++i)
      if (keys[i] == key) how.listeners[i]->restore(saved);
  has_common_steps_ = world.size() == 1 || data.indexed() || state.exchange_strategy->meets_each_step();
  state.active_fit = this;
}

COHORT_CORE_INLINE fit_loop::~fit_loop() { state_.active_fit = enclosing_; }

COHORT_CORE_INLINE fit_report fit_loop::run() {
  auto const start = clock::now();
  notify_on_failure([&] { run_epochs(); }, [&](char const*) { finish_pending_without_throwing(); });
  report_.seconds = seconds_since(start);
  return report_;
}

COHORT_CORE_INLINE double fit_loop::seconds_since(clock::time_point start) {
  return std::chrono::duration<double>(clock::now() - start).count();
}

/// Connects layers that sum over the whole batch, once per training.   Order  collective.
COHORT_CORE_INLINE void fit_loop::connect_layer_sums(plan const& made) {
  if (state_.workers->is_synchronised() || made.sums().forward.empty()) return;
  bool const single_rank = state_.world->size() == 1;
  if (!single_rank && state_.exchange_strategy->what() != exchanged::gradient)
    throw setting_error(
        {.what = "layers that are synchronised over ranks need a strategy that exchanges gradients",
         .where = "fit",
         .expected = "a strategy such as allreduce, or batch_norm layers",
         .got = state_.exchange_strategy->describe()});
  state_.workers->synchronise(made.sums(), single_rank ? nullptr : state_.world->duplicate());
}

COHORT_CORE_INLINE void fit_loop::run_epochs() {
  training_position& position = state_.position;
  for (int e = 0; e < how_.epochs && !report_.stopped; ++e) {
    auto const start = clock::now();
    epoch_report epoch{.epoch = position.epoch,
                       .epochs = how_.epochs,
                       .weight = state_.epoch_sums.weight,
                       .loss = state_.epoch_sums.loss};
    data_->batches.start(position.epoch, position.position);
    after_step next = after_step::next_step;
    std::int64_t const first_step = position.step;
    while (next == after_step::next_step) next = run_step(epoch);
    bool const ended = next == after_step::next_epoch;
    align_step_counts();
    votes const agreed = end_epoch();
    epoch.steps = position.step - first_step;
    report_.steps += epoch.steps;
    sum_over_ranks(epoch);
    epoch.seconds = seconds_since(start);
    report_.examples += epoch.examples;
    report_.wait_seconds += epoch.wait_seconds;
    report_.exchange_seconds += epoch.exchange_seconds;
    if (ended) {
      report_.loss = epoch.loss;
      update_plateau(epoch);
      state_.epoch_sums = {};
      position = {.step = position.step, .epoch = position.epoch + 1};
      for (listener* one : how_.listeners) one->on_epoch(run_, epoch);
    }
    report_.stopped = !ended || notify_of_votes(agreed);
  }
}

/// Makes one step, if any rank has examples left in this epoch.
COHORT_CORE_INLINE fit_loop::after_step fit_loop::run_step(epoch_report& epoch) {
  loader& batches = data_->batches;
  bool const single_rank = state_.world->size() == 1;
  auto const wait_begin = clock::now();
  batch const* data = batches.next();
  double const wait_seconds = seconds_since(wait_begin);
  if (!data) {
    if (batches.batches() >= 0 || single_rank) return after_step::next_epoch;
    data = &data_->none;  // other ranks may have examples left
  } else if (data->count == 0 && single_rank) {
    return after_step::next_step;
  }
  step_result step = compute_step(*data, wait_begin, wait_seconds);
  evaluate_votes(step);
  if (step.met && step.agreed.examples == 0) return after_step::next_epoch;  // a stream without examples left

  training_position& position = state_.position;
  std::int64_t const step_in_epoch = batches.batches() < 0 ? -1
                                     : how_.sharding == sharding::local
                                         ? position.position / how_.batch
                                         : position.position / examples_per_step();
  bool const counts = has_common_steps_ || data->count > 0;
  position.step += 1 + (step.met ? step.agreed.skipped_steps : 0);
  if (counts) last_step_ = position.step;
  if (data != &data_->none) position.position = data->next_position;
  epoch.steps += counts ? 1 : 0;
  epoch.examples += data->count;
  if (step.done.finite) {
    epoch.loss += step.done.loss;
    epoch.weight += step.now.weight;
    state_.epoch_sums = {epoch.loss, epoch.weight};
  }
  epoch.wait_seconds += wait_seconds;
  epoch.exchange_seconds += step.done.exchange_seconds;
  bool const not_finite = step.agreed.all.not_finite;
  if (not_finite) reject_non_finite(step.now);
  bool const weightless = is_weightless(step);
  if (weightless && state_.settings.log)
    state_.settings.log(text_of({"step skipped: the weights of all examples of step ", step.now.step,
                                 ", epoch ", step.now.epoch, ", are 0"}));
  if (weightless || (step.exchanges_gradients ? not_finite : !step.done.finite)) ++report_.skipped;
  if (counts) {
    step_report const report = report_of(step, step_in_epoch < 0 ? epoch.steps - 1 : step_in_epoch);
    is_in_on_step_ = true;
    for (listener* one : how_.listeners) one->on_step(run_, report);
    is_in_on_step_ = false;
  }
  return step.met && notify_of_votes(step.agreed.all) ? after_step::stop : after_step::next_step;
}

COHORT_CORE_INLINE fit_loop::step_result fit_loop::compute_step(batch const& data,
                                                                clock::time_point wait_begin,
                                                                double wait_seconds) {
  training_position const& position = state_.position;
  step_info const now{.step = position.step,
                      .epoch = position.epoch,
                      .examples = data.count,
                      .weight = data.weight(),
                      .expected = data.global_count > 0 ? data.global_count : examples_per_step(),
                      .mine = state_.voting.requested(),
                      .data_ended = &data == &data_->none};
  state_.world->note({now.step, -1});
  auto const step_begin = clock::now();
  step_outcome const done = state_.run_workers(data_, [&] {
    return state_.workers->step(data, now, *state_.exchange_strategy, state_.update(), how_.accumulate);
  });
  if (!done.finite)
    if (std::string const where = state_.workers->non_finite_location(); !where.empty())
      state_.non_finite.add(now, !is_finite(done.loss), where);
  return {.data = &data,
          .now = now,
          .done = done,
          .wait_begin = wait_begin,
          .step_begin = step_begin,
          .wait_seconds = wait_seconds,
          .exchanges_gradients = false,
          .met = false,
          .agreed = {}};
}

/// Sets what the ranks have agreed on in this step. Without meetings (one rank) the own votes apply.
COHORT_CORE_INLINE void fit_loop::evaluate_votes(step_result& step) {
  strategy const& ranks = *state_.exchange_strategy;
  agreement const single_rank{.meetings = state_.voting.meetings() + 1, .examples = 1, .all = step.now.mine};
  bool const has_meetings = ranks.agreed() != nullptr;
  step.agreed = has_meetings ? *ranks.agreed() : single_rank;
  step.met = state_.voting.advance_to(step.agreed);
  step.exchanges_gradients = has_meetings && ranks.what() == exchanged::gradient;
  if (step.met && step.agreed.examples == 0) return;
  if (!step.met) step.agreed.all = {};  // the votes of an earlier step
  if (step.exchanges_gradients)
    step.agreed.all.not_finite |= !step.done.all_finite;
  else if (!has_meetings)
    step.agreed.all.not_finite |= !step.done.finite;
}

COHORT_CORE_INLINE bool fit_loop::is_weightless(step_result const& step) const {
  return step.exchanges_gradients ? step.met && step.agreed.weight <= 0
                                  : step.data->count > 0 && step.now.weight <= 0;
}

COHORT_CORE_INLINE step_report fit_loop::report_of(step_result const& step,
                                                   std::int64_t step_in_epoch) const {
  step_times times = step.done.times;
  times.data = step.wait_begin;
  return {.step = step.now.step,
          .epoch = step.now.epoch,
          .step_in_epoch = step_in_epoch,
          .steps_in_epoch = data_->batches.batches(),
          .examples = step.data->count,
          .loss = step.now.weight > 0 ? step.done.loss / step.now.weight : 0,
          .step_seconds = seconds_since(step.step_begin),
          .wait_seconds = step.wait_seconds,
          .exchange_seconds = step.done.exchange_seconds,
          .bytes_sent = state_.world->sent().bytes_sent,
          .ranks = state_.world->size(),
          .updated = step.done.updated,
          .times = times};
}

/// Lets the strategy finish what is pending. Returns the votes of a meeting in this call, or none.
COHORT_CORE_INLINE votes fit_loop::end_epoch() {
  step_info const last{
      .step = state_.position.step - 1, .epoch = state_.position.epoch, .mine = state_.voting.requested()};
  state_.exchange_strategy->end_of_epoch(last, state_.current_replica());
  agreement const* const met = state_.exchange_strategy->agreed();
  if (!met || !state_.voting.advance_to(*met)) return {};
  if (met->all.not_finite) reject_non_finite(last);
  return met->all;
}

COHORT_CORE_INLINE void fit_loop::align_step_counts() {
  if (has_common_steps_) return;
  auto last = static_cast<std::uint64_t>(last_step_);
  state_.world->allreduce(std::span<std::uint64_t>(&last, 1), reduction::maximum);
  state_.position.step = last_step_ = static_cast<std::int64_t>(last);
}

COHORT_CORE_INLINE bool fit_loop::notify_of_votes(votes const& all) {
  if (!all.stop && !all.save) return false;
  align_step_counts();
  state_.voting.clear(all);
  for (listener* one : how_.listeners) one->on_vote(run_, all);
  return all.stop;
}

COHORT_CORE_INLINE void fit_loop::reject_non_finite(step_info const& now) {
  numeric_error const why = state_.non_finite.exchange(*state_.world, now);
  if (state_.settings.not_finite == when_not_finite::stop) throw why;
  if (state_.settings.log) state_.settings.log(text_of({"step skipped: ", why.what()}));
}

/// Applies reduce_on_plateau. All ranks have the same mean loss of the epoch.
COHORT_CORE_INLINE void fit_loop::update_plateau(epoch_report const& epoch) {
  training_settings const& settings = state_.settings;
  if (!settings.plateau || epoch.weight <= 0) return;
  double const before = state_.rate_plateau.factor;
  state_.rate_plateau = state_.rate_plateau.after(epoch.loss, *settings.plateau);
  if (settings.log && state_.rate_plateau.factor != before)
    settings.log(text_of({"the loss has reached a plateau: learning rates times ", state_.rate_plateau.factor,
                          " from epoch ", state_.position.epoch + 1, " on"}));
}

COHORT_CORE_INLINE void fit_loop::sum_over_ranks(epoch_report& epoch) const {
  double sums[3]{static_cast<double>(epoch.examples), epoch.weight, epoch.loss};
  state_.world->allreduce(std::span<double>(sums));
  epoch.examples = static_cast<std::int64_t>(sums[0]);
  epoch.weight = sums[1];
  epoch.loss = sums[1] > 0 ? sums[2] / sums[1] : 0;
}

/// After an error that has already ended the run: finishes the pending buckets of the last step on this rank,
/// if possible.
COHORT_CORE_INLINE void fit_loop::finish_pending_without_throwing() try {
  state_.finish_pending();
} catch (std::exception const&) {
}

COHORT_CORE_INLINE std::int64_t fit_loop::examples_per_step() const {
  return static_cast<std::int64_t>(how_.batch) * state_.world->size();
}

}  // namespace cohort::detail
