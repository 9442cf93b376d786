// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/detail/text.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/tensor/finite.hpp>
#include <cohort/training/detail/carried_states.hpp>
#include <cohort/training/detail/mean_loss.hpp>
#include <cohort/training/detail/run_checks.hpp>
#include <cohort/training/detail/step_runner.hpp>
#include <numeric>
#include <span>
#include <string>

namespace cohort::detail {

std::shared_ptr<plan const> step_runner::prepare(int examples, int accumulate) {
  auto made = state_.workers->plan_for(
      {.examples = std::max(1, state_.workers->micro_batch_size(examples, accumulate)),
       .accumulates = accumulate > 1});
  connect_layer_sums(*made);
  return made;
}

std::shared_ptr<plan const> step_runner::prepare(int examples, work_kind kind) {
  if (state_.exchange_strategy->shard_ranks())
    throw setting_error({.what = "a training_loop needs the whole gradient on each rank",
                         .where = "training_loop::forward",
                         .expected = "a strategy without shards; or fit or train_on",
                         .got = state_.exchange_strategy->describe()});
  kind.examples = std::max(1, state_.workers->micro_batch_size(examples));
  auto compiled = state_.workers->plan_for(kind);
  if (!kind.output_gradients || compiled->sums().forward.empty()) {
    connect_layer_sums(*compiled);
    return compiled;
  }
  bool const has_loss = !graph_view(state_.net).with_role(layer_role::loss).empty();
  connect_layer_sums(has_loss ? *state_.workers->plan_for({.examples = kind.examples}) : *compiled);
  if (!state_.workers->sums_match(compiled->sums()))
    throw setting_error({.what = "a training_loop computes only some of the layers that are synchronised",
                         .where = "training_loop::forward",
                         .expected = "outputs that depend on all synchronised layers; or batch_norm instead",
                         .got = "outputs that depend on fewer layers than the losses, or on more"});
  return compiled;
}

void step_runner::connect_layer_sums(plan const& made) {
  if (state_.workers->is_synchronised() || made.sums().forward.empty()) return;
  bool const single_rank = state_.world->size() == 1;
  if (!single_rank && state_.exchange_strategy->what() != exchanged::gradient)
    throw setting_error(
        {.what = "the strategy does not exchange gradients, but layers are synchronised over ranks",
         .where = "fit",
         .expected = "a strategy that exchanges gradients, such as allreduce; or batch_norm instead of "
                     "synchronised layers",
         .got = state_.exchange_strategy->describe()});
  state_.workers->synchronise(made.sums(), single_rank ? nullptr : state_.world->duplicate());
}

void step_runner::check(batch_view& data, std::span<int const> losses) {
  if (losses.empty()) data.targets.clear();
  check_batch_view(state_.net, losses, state_.element(), data);
  if (data.ranks != 0 && data.ranks != state_.world->size()) {
    data.global_count = 0;
    data.even = false;
  }
  state_.rescale(data);
  if (!data.indices.empty()) return;
  constexpr int rows_of_a_rank = 40;  // number of bits for the rows of a rank
  auto const first = static_cast<std::int64_t>(state_.world->rank()) << rows_of_a_rank;
  indices_->resize(static_cast<std::size_t>(data.count));
  std::iota(indices_->begin(), indices_->end(), first);
  data.indices = *indices_;
}

void step_runner::check_ranks_once(char const* call) {
  if (!state_.has_checked_ranks) check_run(state_, call);
  state_.has_checked_ranks = true;
}

step_info step_runner::info_of(batch_view const& data, double weight) const {
  std::int64_t expected = data.global_count;
  if (expected <= 0) {
    auto all = static_cast<std::uint64_t>(data.count);
    if (state_.world->size() > 1) state_.world->allreduce(std::span<std::uint64_t>(&all, 1), reduction::sum);
    expected = static_cast<std::int64_t>(all);
  }
  return {.step = state_.position.step,
          .epoch = state_.position.epoch,
          .examples = data.count,
          .weight = weight,
          .expected = expected,
          .mine = state_.voting.requested()};
}

step_result step_runner::step(batch_view const& data, step_info const& now, int accumulate,
                              std::shared_ptr<void const> const& owner) {
  state_.world->note({now.step, -1});
  step_start const begin = start();
  step_outcome const done = state_.run_workers(owner, [&] {
    return state_.workers->step(data, now, *state_.exchange_strategy, state_.update(), accumulate);
  });
  return result_of(done, now, begin, without_weight(data));
}

int step_runner::without_weight(batch_view const& data) {
  return static_cast<int>(std::ranges::count(data.weights, 0.0F));
}

step_result step_runner::result_of(step_outcome const& done, step_info now, step_start const& begin,
                                   int without_weight) {
  if (!done.finite)
    if (std::string const where = state_.workers->non_finite_location(); !where.empty())
      state_.non_finite.add(now, !is_finite(done.loss), where);
  step_result made{.now = now, .done = done, .begin = begin, .without_weight = without_weight};
  evaluate_votes(made);
  return made;
}

/// Sets the votes on which the ranks have agreed in this step. Without meetings (one rank), this rank's votes
/// apply.
void step_runner::evaluate_votes(step_result& step) const {
  strategy const& ranks = *state_.exchange_strategy;
  agreement const single_rank{.meetings = state_.voting.meetings() + 1, .examples = 1, .all = step.now.mine};
  bool const has_meetings = ranks.agreed() != nullptr;
  step.agreed = has_meetings ? *ranks.agreed() : single_rank;
  step.met = state_.voting.advance_to(step.agreed);
  step.exchanges_gradients = has_meetings && ranks.what() == exchanged::gradient;
  if (step.has_ended()) return;
  if (!step.met) step.agreed.all = {};  // discards the votes of an earlier step
  if (step.exchanges_gradients)
    step.agreed.all.not_finite |= !step.done.all_finite;
  else if (!has_meetings)
    step.agreed.all.not_finite |= !step.done.finite;
}

void step_runner::count(step_result const& step) {
  state_.position.step += 1 + (step.met ? step.agreed.skipped_steps : 0);
  if (state_.workers->states()) state_.states_step = state_.position.step;
  training_state::running_sums& epoch = state_.epoch_sums;
  ++epoch.steps;
  epoch.examples += step.now.examples;
  epoch.ignored += step.done.finite ? step.without_weight : step.now.examples;
  epoch.given_weight += step.now.weight;
  if (!step.done.finite || !step.done.has_loss) return;
  epoch.loss += step.done.loss;
  epoch.weight += step.now.weight;
}

bool step_runner::was_skipped(step_result const& step) {
  bool const not_finite = step.agreed.all.not_finite;
  if (not_finite) reject_non_finite(step.now);
  bool const weightless = is_weightless(step);
  if (weightless && state_.settings.log)
    state_.settings.log(text_of({"step skipped: the weights of all examples of step ", step.now.step,
                                 ", epoch ", step.now.epoch, ", are 0"}));
  return weightless || (step.exchanges_gradients ? not_finite : !step.done.finite);
}

bool step_runner::is_weightless(step_result const& step) const {
  return step.exchanges_gradients ? step.met && step.agreed.weight <= 0
                                  : step.now.examples > 0 && step.now.weight <= 0;
}

void step_runner::reject_non_finite(step_info const& now) {
  numeric_error const why = state_.non_finite.exchange(*state_.world, now);
  if (state_.settings.not_finite == when_not_finite::stop) throw why;
  if (state_.settings.log) state_.settings.log(text_of({"step skipped: ", why.what()}));
}

step_report step_runner::report_of(step_result const& step) const {
  step_times times = step.done.times;
  times.data = step.begin.time;
  traffic const before = step.begin.sent, sent = state_.world->sent();
  return {.step = step.now.step,
          .epoch = step.now.epoch,
          .step_in_epoch = state_.epoch_sums.steps - 1,
          .examples = step.now.examples,
          .weight = step.done.finite ? step.now.weight : 0,
          .loss = mean_of_losses(step.done.loss, step.now.weight),
          .step_seconds = std::chrono::duration<double>(clock::now() - step.begin.time).count(),
          .exchange_seconds = step.done.exchange_seconds,
          .bytes_sent = sent.bytes_sent - before.bytes_sent,
          .messages_sent = sent.messages_sent - before.messages_sent,
          .ranks = state_.world->size(),
          .updated = step.done.updated,
          .agreed = step.agreed.all,
          .times = times};
}

step_report step_runner::finish(step_result const& step) {
  if (step.has_ended()) return {.step = step.now.step, .epoch = step.now.epoch, .updated = false};
  count(step);
  was_skipped(step);
  step_report const report = report_of(step);
  state_.epoch_sums.seconds += report.step_seconds;
  if (report.agreed.stop || report.agreed.save) state_.voting.clear(report.agreed);
  return report;
}

votes step_runner::end_of_epoch() {
  votes const all = meet_at_end();
  check_votes(all);
  return all;
}

votes step_runner::meet_at_end() {
  state_.exchange_strategy->end_of_epoch(info_at_end(), state_.current_replica());
  agreement const* const met = state_.exchange_strategy->agreed();
  return met && state_.voting.advance_to(*met) ? met->all : votes{};
}

void step_runner::check_votes(votes const& all) {
  if (all.not_finite) reject_non_finite(info_at_end());
}

step_info step_runner::info_at_end() const {
  return {
      .step = state_.position.step - 1, .epoch = state_.position.epoch, .mine = state_.voting.requested()};
}

votes step_runner::meet_between_epochs() const {
  votes const mine = state_.voting.requested();
  std::uint64_t all[2]{mine.stop, mine.save};
  if (state_.world->size() > 1) state_.world->allreduce(std::span<std::uint64_t>(all), reduction::maximum);
  return {.stop = all[0] > 0, .save = all[1] > 0};
}

double step_runner::sum_over_ranks(epoch_report& epoch) const {
  training_state::running_sums const& mine = state_.epoch_sums;
  double sums[]{static_cast<double>(epoch.examples), static_cast<double>(epoch.ignored), mine.weight,
                mine.loss, mine.given_weight};
  state_.world->allreduce(std::span<double>(sums));
  epoch.examples = static_cast<std::int64_t>(sums[0]);
  epoch.ignored = static_cast<std::int64_t>(sums[1]);
  epoch.weight = sums[2];
  epoch.loss = mean_of_losses(sums[3], sums[2]);
  return sums[4];
}

void step_runner::begin_next_epoch(epoch_report const& done) {
  update_plateau(done);
  clear_states(state_);
  state_.epoch_sums = {};
  state_.position = {.step = state_.position.step, .epoch = state_.position.epoch + 1};
}

/// Applies reduce_on_plateau. All ranks have the same mean loss of the epoch.
void step_runner::update_plateau(epoch_report const& epoch) {
  training_settings const& settings = state_.settings;
  if (!settings.plateau || epoch.weight <= 0) return;
  double const before = state_.rate_plateau.factor;
  state_.rate_plateau = state_.rate_plateau.after(epoch.loss, *settings.plateau);
  if (settings.log && state_.rate_plateau.factor != before)
    settings.log(text_of({"the loss has reached a plateau: learning rates times ", state_.rate_plateau.factor,
                          " from epoch ", state_.position.epoch + 1, " on"}));
}

step_report step_runner::train_on(batch_view data, int accumulate) {
  check_ranks_once("train_on");
  if (accumulate < 1)
    throw setting_error({.what = "a batch cannot be split into this number of micro-batches",
                         .where = "train_on, accumulate",
                         .expected = "at least 1",
                         .got = {accumulate}});
  check(data);
  prepare_states(state_, data.count);
  prepare(data.count, accumulate);
  step_info const now = info_of(data);
  if (now.expected == 0) return {.step = now.step, .epoch = now.epoch, .updated = false};
  return finish(step(data, now, accumulate, indices_));
}

epoch_report step_runner::end_epoch() {
  training_state::running_sums const sums = state_.epoch_sums;
  votes const agreed = end_of_epoch();
  if (agreed.stop || agreed.save) state_.voting.clear(agreed);
  epoch_report done{.epoch = state_.position.epoch,
                    .epochs = state_.position.epoch + 1,
                    .steps = sums.steps,
                    .examples = sums.examples,
                    .ignored = sums.ignored,
                    .seconds = sums.seconds};
  sum_over_ranks(done);
  begin_next_epoch(done);
  return done;
}

}  // namespace cohort::detail
