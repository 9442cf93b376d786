// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/communicator/all_or_none.hpp>
#include <cohort/data/fingerprint.hpp>
#include <cohort/detail/text.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/training/detail/carried_states.hpp>
#include <cohort/training/detail/fit_loop.hpp>
#include <cohort/training/detail/fit_memory.hpp>
#include <cohort/training/detail/notify_on_failure.hpp>
#include <cohort/training/detail/run_checks.hpp>
#include <cohort/training/detail/schedule_notes.hpp>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace cohort::detail {

/// Errors    setting_error for a metric whose column in the history would have no name, or the name of
///           another column.
void check_metric_names(std::span<metric const> metrics) {
  fit_history const columns;
  for (metric const& one : metrics) {
    if (one.name.empty())
      throw setting_error({.what = "a metric has no name, so its history column would have none",
                           .where = "metrics",
                           .expected = "metric{.name = …}",
                           .got = "an empty name"});
    if (std::ranges::find(columns.names(), one.name) != columns.names().end())
      throw setting_error({.what = "a metric has the name of another column of the history",
                           .where = "metrics",
                           .expected = "a name other than epoch, loss, examples and seconds",
                           .got = one.name});
  }
}

/// Errors    setting_error if an interrupted epoch cannot continue on this data set. `size`: largest number
///           of examples on a rank; −1: a stream.
void check_position(training_position const& at, std::int64_t size) {
  if (size >= 0 && at.position > size)
    throw setting_error({.what = "the interrupted epoch cannot continue on a smaller data set",
                         .where = {"fit, epoch ", at.epoch + 1},
                         .expected = {"at least ", at.position,
                                      " examples, as many as were used before; or training::end_epoch, which "
                                      "ends the epoch"},
                         .got = {size}});
}

fit_loop::fit_loop(training& run, training_state& state, dataset const& data, fit_settings const& how)
    : run_(run),
      state_(state),
      examples_(data),
      how_(how),
      runner_(state),
      enclosing_(state.active_fit),
      enclosing_is_in_uncommon_step_(state.is_in_uncommon_step),
      last_step_(state.position.step),
      target_{.epochs = how.epochs, .last_met = state.position.position},
      elastic_(dynamic_cast<elastic_communicator*>(state.world.get())) {
  check_ranks(state, data, how, "fit");
  check_batch(how);
  if (how.epochs < 0)
    throw setting_error({.what = "the number of epochs is negative",
                         .where = "fit",
                         .expected = "at least 0",
                         .got = {how.epochs}});
  for (std::size_t i = 0; i < how.listeners.size(); ++i)
    if (!how.listeners[i])
      throw setting_error({.what = "the listener is null",
                           .where = {"fit, listeners[", i, "]"},
                           .expected = "the address of a listener",
                           .got = "nullptr"});
  check_dataset(state, data, "fit");
  check_class_names(state, data, {}, "fit");
  std::vector<std::vector<std::string>> const names = class_names_of(data);
  if (how.validation) {
    validation_.emplace(state, *how.validation, how.metrics, how.sharding);
    check_class_names(state, *how.validation, names, "validation");
    check_feature_names(*how.validation, feature_names_of(data), "the training", "validation");
  }
  if (!how.validation && !how.metrics.empty())
    throw setting_error({.what = "there is no validation data for the metrics",
                         .where = "fit",
                         .expected = ".validation = data beside .metrics",
                         .got = {how.metrics.size(), " metrics without .validation"}});
  check_metric_names(how.metrics);
  for (listener const* one : how.listeners) one->check(how);
  prepare_states(state, data, how);
  if (elastic_) {
    membership_change::check(state, data, how);
    facts_ = hash_of_facts();
  }
  log_memory(state, *runner_.prepare(how.batch, how.accumulate), data, how);
  communicator& world = *state.world;
  std::vector<std::int64_t> sizes = local_sizes(world, data, how.sharding);
  if (how.epochs > 0) {
    check_position(state.position, sizes.empty() ? data.size() : std::ranges::max(sizes));
    check_data_of_epoch();
  }
  local_sizes_ = std::move(sizes);
  data_ = make_data();
  restore_listeners();
  state.has_resumed = false;
  state.preparation.class_names = names;
  if (auto features = feature_names_of(data); !features.empty())
    state.preparation.feature_names = std::move(features);
  log_schedules();
  has_common_steps_ = world.size() == 1 || data.indexed() || state.exchange_strategy->meets_each_step();
  state.active_fit = this;
  state.is_in_uncommon_step = false;
}

std::shared_ptr<fit_loop::step_data> fit_loop::make_data() const {
  communicator const& world = *state_.world;
  return std::make_shared<step_data>(normalised(examples_, state_.preparation.rescaling),
                                     loader_settings{.batch = how_.batch,
                                                     .rank = world.rank(),
                                                     .ranks = world.size(),
                                                     .step_ranks = elastic_ ? elastic_->planned_size() : 0,
                                                     .seed = state_.settings.seed,
                                                     .shuffle = how_.shuffle,
                                                     .blocks = how_.blocks,
                                                     .prefetch = how_.prefetch,
                                                     .bucket = how_.bucket,
                                                     .readers = how_.readers,
                                                     .deadline = state_.settings.deadline,
                                                     .local_sizes = local_sizes_});
}

/// Restores the states of listeners from a checkpoint or another rank.
void fit_loop::restore_listeners() {
  std::vector<std::string> const keys = keys_of(how_.listeners);
  for (saved_listener const& saved : state_.saved_listeners)
    for (std::size_t i = 0; i < keys.size(); ++i)
      if (keys[i] == saved.key) {
        how_.listeners[i]->restore(saved.state);
        how_.listeners[i]->restore_array({saved.type, {saved.array.data(), saved.array.bytes()}});
      }
  state_.saved_listeners.clear();  // last: after an error above, the next fit still restores them
}

/// Logs schedules that do not fit the run, each once per training.
void fit_loop::log_schedules() const {
  if (!state_.settings.log || how_.epochs == 0) return;
  training_position const& at = state_.position;
  run_extent extent{.epochs = at.epoch + how_.epochs};
  if (std::int64_t const per_epoch = data_->batches.batches(); per_epoch >= 0)
    extent.steps = at.step + how_.epochs * per_epoch - steps_at(at.position);
  for (schedule_note const& one : schedule_notes(state_.settings, extent))
    if (state_.logged_schedules.insert(one.subject).second) state_.settings.log(one.text);
}

std::int64_t fit_loop::steps_at(std::int64_t position) const {
  return how_.sharding == sharding::local ? position / how_.batch : position / examples_per_step();
}

int training_state::batch_of_fit() const { return active_fit ? active_fit->batch_size() : 0; }

fit_loop::~fit_loop() {
  state_.wants_to_leave = false;
  state_.active_fit = enclosing_;
  state_.is_in_uncommon_step = enclosing_is_in_uncommon_step_;
}

std::optional<std::uint64_t> fit_loop::fingerprint() const try {
  if (!examples_.indexed() || examples_.size() == 0) return std::nullopt;
  return cohort::fingerprint(examples_, state_.position.epoch);
} catch (...) {
  return std::nullopt;  // the step that needs the example reports the error
}

/// Returns the settings that determine the order of the examples. If each rank has its own examples or the
/// data is streamed, these settings include the number of ranks.
std::string fit_loop::describe_order() const {
  bool const is_local = how_.sharding == sharding::local;
  std::string order(is_local ? "examples of each rank" : "examples of all ranks");
  if (!examples_.indexed()) order += ", streamed";
  if (is_local || !examples_.indexed()) order += text_of({", ", state_.world->size(), " ranks"});
  if (!examples_.indexed()) return order;
  if (!how_.shuffle) return order += ", not shuffled";
  order += text_of({", shuffled by seed ", state_.settings.seed});
  if (how_.blocks.block > 0)
    order += text_of({" in blocks of ", how_.blocks.block, " in windows of ", how_.blocks.window});
  if (how_.bucket > 0) order += text_of({", sorted in buckets of ", how_.bucket});
  return order;
}

epoch_data fit_loop::data_of_epoch() const { return {fingerprint(), describe_order()}; }

void fit_loop::check_data_of_epoch() const {
  if (!state_.has_resumed) return;
  all_or_none(*state_.world, "fit", "cannot continue the interrupted epoch", [&] {
    epoch_data const& saved = state_.interrupted;
    if (state_.position.position == 0) return;
    char const* const remedy = "; or training::end_epoch, which ends the epoch";
    if (std::string const order = describe_order(); !saved.order.empty() && order != saved.order)
      throw setting_error(
          {.what = "the interrupted epoch cannot continue in another order",
           .where = {"fit, epoch ", state_.position.epoch + 1},
           .expected = {"the order of the run that wrote the checkpoint, ", saved.order, remedy},
           .got = order});
    std::optional<std::uint64_t> const found = saved.fingerprint ? fingerprint() : std::nullopt;
    if (found && *found != *saved.fingerprint)
      throw setting_error({.what = "the interrupted epoch cannot continue on another data set",
                           .where = {"fit, epoch ", state_.position.epoch + 1},
                           .expected = {"the examples of the run that wrote the checkpoint, fingerprint ",
                                        *saved.fingerprint, remedy},
                           .got = {"fingerprint ", *found}});
  });
}

fit_report fit_loop::run() {
  auto const start = clock::now();
  notify_on_failure([&] { run_epochs(); }, [&](char const*) { finish_late_without_throwing(); });
  report_.seconds = seconds_since(start);
  return report_;
}

double fit_loop::seconds_since(clock::time_point start) {
  return std::chrono::duration<double>(clock::now() - start).count();
}

void fit_loop::run_epochs() {
  if (elastic_)
    run_elastically();
  else
    run_remaining_epochs();
  report_.stopped = target_.stopped;
  if (state_.is_within_epoch()) state_.interrupted = data_of_epoch();
  for (listener* one : how_.listeners) one->on_end(run_);
}

void fit_loop::run_remaining_epochs() {
  while (!target_.stopped && target_.epochs > 0)
    if (target_.ended || run_steps()) finish_epoch();
}

void fit_loop::run_elastically() {
  if (elastic_->waits_to_join()) regroup();
  for (bool is_done = false; !is_done;) try {
      elastic_->accept_processes(true);
      run_remaining_epochs();
      if (elastic_->has_left()) return;
      elastic_->accept_processes(false);
      elastic_->barrier();  // a rank that has ended its fit could not make an interrupted step again
      is_done = true;
    } catch (communicator_error const& lost) {
      if (elastic_->has_left() || lost.exit_status() != communicator_exit_status) throw;
      if (state_.settings.log) state_.settings.log(text_of({"the ranks change: ", lost.what()}));
      regroup();
    }
}

bool fit_loop::run_steps() {
  training_position& position = state_.position;
  if (!epoch_) {
    epoch_.emplace(
        running_epoch{.report = {.epoch = position.epoch, .epochs = position.epoch + target_.epochs},
                      .first_step = position.step,
                      .ignored_before = state_.epoch_sums.ignored,
                      .is_whole = position.position == 0});
    if (epoch_->is_whole) clear_states(state_);
  }
  data_->batches.start(position.epoch, position.position);
  after_step next = after_step::next_step;
  if (std::optional<std::int64_t> const last = std::exchange(last_step_of_ranks_, std::nullopt))
    next = make_missing_steps(*last);
  if (target_.is_stopping) next = after_step::stop;
  auto const has_left = [&] { return elastic_ && elastic_->has_left(); };
  while (next == after_step::next_step && !has_left()) {
    next = run_step(epoch_->report);
    if (next == after_step::next_step && elastic_) next = change_ranks();
  }
  if (has_left()) {
    target_.stopped = true;
    return false;
  }
  bool const ended = next == after_step::next_epoch;
  align_step_counts();
  target_.agreed = meet();
  target_.last_met = 0;
  epoch_report epoch = epoch_->report;
  epoch.steps = position.step - epoch_->first_step;
  epoch.ignored = state_.epoch_sums.ignored - epoch_->ignored_before;
  double const given_weight = runner_.sum_over_ranks(epoch);
  epoch.seconds = seconds_since(epoch_->start);
  report_.steps += epoch.steps;
  report_.examples += epoch.examples;
  report_.wait_seconds += epoch.wait_seconds;
  report_.exchange_seconds += epoch.exchange_seconds;
  bool const is_whole = epoch_->is_whole;
  epoch_.reset();
  if (!ended) {
    notify_of_votes(target_.agreed);
    target_.stopped = true;
    return false;
  }
  report_.loss = epoch.loss;
  runner_.begin_next_epoch(epoch);
  target_.ended = epoch;
  if (is_whole && epoch.examples > 0 && epoch.weight == 0 && given_weight == 0)
    refuse_weightless("epoch", text_of({"fit, epoch ", epoch.epoch + 1}), epoch.examples);
  return true;
}

void fit_loop::finish_epoch() {
  epoch_report& epoch = *target_.ended;
  if (validation_)
    epoch.validation = validation_->measure_all(
        run_, {.batch = how_.batch, .readers = how_.validation->indexed() ? how_.readers : 1});
  for (listener* one : how_.listeners) one->on_epoch(run_, epoch);
  votes agreed = runner_.meet_between_epochs();
  agreed |= target_.agreed;
  report_.history.add(epoch);
  target_.ended.reset();
  target_.agreed = {};
  --target_.epochs;
  bool const stops = notify_of_votes(agreed);
  target_.stopped = stops && target_.epochs > 0;
}

void fit_loop::regroup() {
  membership_change change(state_, *elastic_);
  for (bool is_connected = false; !is_connected;) {
    change.begin(target_);
    try {
      if (change.transfer(target_, facts_)) {
        restore_listeners();
        epoch_.reset();
      }
      runner_.prepare(how_.batch, how_.accumulate);  // connects synchronised layers
      elastic_->confirm();
      is_connected = true;
    } catch (communicator_error const& lost) {
      if (lost.exit_status() != communicator_exit_status) throw;
    }
  }
  divides_again_ = true;
  if (meets_at_intervals())
    last_step_of_ranks_ = change.last_step();
  else
    divide_again();
  last_step_ = state_.position.step;
  if (state_.settings.log)
    state_.settings.log(
        text_of({"membership ", elastic_->membership(), ": ", elastic_->size(),
                 elastic_->size() == 1 ? " rank" : " ranks", ", continues at step ", change.last_step()}));
}

void fit_loop::divide_again() {
  if (std::exchange(divides_again_, false)) data_ = make_data();
}

fit_loop::after_step fit_loop::make_missing_steps(std::int64_t last) {
  while (state_.position.step < last)
    if (run_step(epoch_->report, false) == after_step::next_epoch)
      throw communicator_error({.what = "this rank lacks steps of the others, and has no examples for them",
                                .where = {"fit, step ", state_.position.step},
                                .expected = {"examples up to step ", last},
                                .got = "the end of the epoch"},
                               1);
  after_step const next = meet_at_interval();
  data_->batches.start(state_.position.epoch, state_.position.position);
  return next;
}

fit_loop::after_step fit_loop::change_ranks() {
  bool const leaves = can_leave();
  if (!meets_at_intervals()) {
    if (leaves) leave();
    return after_step::next_step;
  }
  if (state_.exchange_strategy->meeting_is_due()) return meet_at_interval();
  if (leaves || elastic_->has_ended()) end_membership();
  return after_step::next_step;
}

/// A rank that wants to leave waits for its checkpoint, but not longer than the other ranks wait for it: a
/// step calls this function twice if the ranks meet.
bool fit_loop::can_leave() const {
  if (state_.wants_to_leave) state_.checkpoints.ends_within(writing_limit(*state_.world) / 2);
  return state_.wants_to_leave;
}

/// Leaves the job, or stops the run if too few ranks would be left. Returns whether this rank has left.
bool fit_loop::leave() {
  state_.wants_to_leave = false;
  bool const has_left = elastic_->leave();
  if (!has_left) run_.request({.stop = true});
  return has_left;
}

/// Leaves the membership, so that the ranks meet in the next one.
void fit_loop::end_membership() {
  throw communicator_error({.what = "ranks leave or join", .where = "fit"}, communicator_exit_status);
}

fit_loop::after_step fit_loop::meet_at_interval() {
  votes const all = meet();
  divide_again();
  bool const is_leaving = can_leave() && !all.save;  // a vote to save may start to write a checkpoint
  std::uint64_t leaves = is_leaving ? 1 : 0;
  // A rank that continues knows that all ranks have met.
  elastic_->allreduce(std::span<std::uint64_t>(&leaves, 1), reduction::maximum);
  if (notify_of_votes(all)) return after_step::stop;
  if (leaves == 0) return after_step::next_step;
  if (is_leaving && leave()) return after_step::next_step;
  end_membership();
}

votes fit_loop::meet() {
  std::int64_t const before = state_.voting.meetings();
  votes const all = runner_.meet_at_end();
  if (meets_at_intervals() && state_.voting.meetings() != before) count_lost_examples();
  runner_.check_votes(all);
  return all;
}

/// After a meeting. If the fit has begun after a checkpoint between two meetings, the examples before the
/// checkpoint are part of its first meeting, so the difference is negative.
void fit_loop::count_lost_examples() {
  std::int64_t const position = state_.position.position, seen = state_.exchange_strategy->agreed()->examples,
                     lost = position - std::exchange(target_.last_met, position) - seen;
  if (lost <= 0) return;
  report_.lost_examples += lost;
  if (state_.settings.log)
    state_.settings.log(text_of({lost,
                                 " examples are lost with the ranks that had used them since the last "
                                 "meeting, before step ",
                                 state_.position.step}));
}

std::uint64_t fit_loop::hash_of_facts() const {
  std::string all;
  for (shared_fact const& fact : facts_of_fit(state_, examples_, how_))
    if (fact.name != "beginning" && fact.name != "normalisation") all += fact.name + '\0' + fact.value + '\0';
  return fnv1a(all + text_of_examples(examples_, how_.sharding, 0));
}

fit_loop::after_step fit_loop::run_step(epoch_report& epoch, bool calls_listeners) {
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
  data_->now.refer_to(*data);
  step_result const step = runner_.step(data_->now, info_of(*data), how_.accumulate, data_);
  if (step.has_ended()) return after_step::next_epoch;  // the stream has no examples left

  training_position& position = state_.position;
  std::int64_t const step_in_epoch = batches.batches() < 0 ? -1 : steps_at(position.position);
  bool const counts = has_common_steps_ || data->count > 0;
  runner_.count(step);
  if (counts) last_step_ = position.step;
  if (data != &data_->none) position.position = data->next_position;
  epoch.steps += counts ? 1 : 0;
  epoch.examples += data->count;
  epoch.wait_seconds += wait_seconds;
  epoch.exchange_seconds += step.done.exchange_seconds;
  if (runner_.was_skipped(step)) ++report_.skipped;
  if (counts) {
    step_report report = runner_.report_of(step);
    report.step_in_epoch = step_in_epoch < 0 ? epoch.steps - 1 : step_in_epoch;
    report.steps_in_epoch = batches.batches();
    report.wait_seconds = wait_seconds;
    report.times.data = wait_begin;
    state_.is_in_uncommon_step = !has_common_steps_;
    if (calls_listeners)
      for (listener* one : how_.listeners) one->on_step(run_, report);
    state_.is_in_uncommon_step = false;
  }
  bool const stops = step.met && notify_of_votes(step.agreed.all);
  return stops ? after_step::stop : after_step::next_step;
}

step_info fit_loop::info_of(batch const& data) const {
  return {.step = state_.position.step,
          .epoch = state_.position.epoch,
          .examples = data.count,
          .weight = state_.weight_of(data_->now),
          .expected = data.global_count > 0 ? data.global_count : examples_per_step(),
          .mine = state_.voting.requested(),
          .data_ended = &data == &data_->none,
          .defers_meeting = meets_at_intervals()};
}

void fit_loop::align_step_counts() {
  if (has_common_steps_) return;
  auto last = static_cast<std::uint64_t>(last_step_);
  state_.world->allreduce(std::span<std::uint64_t>(&last, 1), reduction::maximum);
  state_.position.step = last_step_ = static_cast<std::int64_t>(last);
}

bool fit_loop::notify_of_votes(votes const& all) {
  if (!all.stop && !all.save) return false;
  align_step_counts();
  state_.voting.clear(all);
  try {
    for (listener* one : how_.listeners) one->on_vote(run_, all);
  } catch (communicator_error const&) {
    state_.voting.request(all);  // for the next membership
    throw;
  }
  target_.is_stopping = target_.is_stopping || all.stop;
  return all.stop;
}

/// Finishes the late parts of the last step on this rank, if possible, after an error that has already ended
/// the run.
void fit_loop::finish_late_without_throwing() try { state_.finish_late(); } catch (std::exception const&) {
}

std::int64_t fit_loop::examples_per_step() const { return data_->batches.settings().examples_per_step(); }

}  // namespace cohort::detail
