// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/communicator/detail/shared_outcome.hpp>
#include <cohort/communicator/require_same.hpp>
#include <cohort/data/fingerprint.hpp>
#include <cohort/detail/config.hpp>
#include <cohort/plan/table.hpp>
#include <cohort/trainer/detail/notify_on_failure.hpp>
#include <cohort/trainer/training.hpp>
#include <cohort/version.hpp>
#include <cstring>
#include <string>
#include <vector>

namespace cohort {

COHORT_CORE_INLINE void training::check_pieces(fit_settings const& how) {
  if (how.batch < 1)
    throw setting_error({.what = "a batch needs at least one example", .where = "fit", .got = {how.batch}});
  if (how.accumulate < 1 || how.accumulate > how.batch)
    throw setting_error({.what = "a batch cannot be taken in so many pieces",
                         .where = "fit, accumulate",
                         .expected = {"1 to the batch's ", how.batch, " examples"},
                         .got = {how.accumulate}});
}

COHORT_CORE_INLINE run_memory training::memory_of(dataset const& data, fit_settings const& how) {
  check_pieces(how);
  int const piece = workers_->piece_of(how.batch, how.accumulate);
  bool const accumulates = how.accumulate > 1;
  auto const made = workers_->plan_for({.examples = piece, .accumulates = accumulates});
  run_memory all = memory_of_workers(*made, workers_->size(), accumulates);
  all.updater_state = update().bytes();
  all.exchange = strategy_->bytes(own());
  add_examples(all, data.describe(), parameters(), how.batch, how.prefetch + 1, workers_->size(), piece);
  return all;
}

/// Says before the first step what a run of this plan needs.
COHORT_CORE_INLINE void training::say_memory(plan const& made, dataset const& data, fit_settings const& how) {
  if (!settings_.log || said_memory_of_ == &made) return;
  said_memory_of_ = &made;
  std::string const again = text_of(made.recomputed());
  settings_.log(detail::text_of({text_of(memory_of(data, how), workers_->size(), how.accumulate),
                                 again.empty() ? "" : "; recomputation: ", again}));
}

}  // namespace cohort

namespace cohort::detail {

/// "1x28x28 x f32, 1 x i32": the parts of an example as they arrive in a batch.
COHORT_CORE_INLINE std::string shapes_of(data_description const& what) {
  std::string text;
  for (std::size_t p = 0; p < what.parts(); ++p)
    text += text_of({p == 0 ? "" : ", ", to_string(what.part(p).example), " x ", name_of(what.part(p).type)});
  return text;
}

}  // namespace cohort::detail

namespace cohort {

/// Refuses data sets that differ where ranks take their parts of one, and streams beside data sets with numbers.
///
/// Order     collective.
/// Errors    setting_error on every rank, naming the ranks whose data sets differ; data_error if a data set throws on one.
COHORT_CORE_INLINE void training::check_sharding(dataset const& data, sharding how, char const* where) const {
  if (world_->size() == 1) return;
  std::vector<std::string> text(static_cast<std::size_t>(world_->size()));
  std::string mine = !data.indexed() ? "a stream" : how == sharding::local ? "numbered examples" : "";
  detail::all_or_none(*world_, "cannot read the data set", [&] {
    if (mine.empty())
      mine = detail::text_of(
          {data.size(), " examples, fingerprint ", data.size() > 0 ? fingerprint(data, position_.epoch) : 0});
  });
  gathered const all = world_->allgatherv(std::as_bytes(std::span(mine)));
  for (int r = 0; r < world_->size(); ++r)
    text[static_cast<std::size_t>(r)] = {reinterpret_cast<char const*>(all.of(r).data()), all.of(r).size()};
  if (std::ranges::count(text, text[0]) == std::ssize(text)) return;
  throw setting_error(
      {.what = "the ranks' data sets differ",
       .where = where,
       .expected = "the same examples in the same order on every rank, of which each rank takes its part; if "
                   "each rank holds its own examples: .sharding = sharding::local",
       .got = detail::by_rank(text)});
}

/// How many examples each rank holds, for sharding::local; empty otherwise.
///
/// Order     collective with sharding::local.
COHORT_CORE_INLINE std::vector<std::int64_t> training::local_sizes(dataset const& data, sharding how) const {
  if (how == sharding::global) return {};
  std::int64_t const mine = data.size();
  gathered const all = world_->allgatherv(std::as_bytes(std::span(&mine, 1)));
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(world_->size()));
  for (int r = 0; r < world_->size(); ++r)
    std::memcpy(&sizes[static_cast<std::size_t>(r)], all.of(r).data(), sizeof mine);
  return sizes;
}

/// Sees to it that all ranks mean the same run.
COHORT_CORE_INLINE void training::check_ranks(dataset const& data, fit_settings const& how) const {
  if (world_->size() == 1) return;
  if (!strategy_->agreed())
    throw setting_error(
        {.what = "several ranks need a strategy under which they meet",
         .where = "fit",
         .expected = "allreduce, parameter averaging, or one whose agreed() says what was voted",
         .got = strategy_->describe()});
  shared_fact const facts[]{
      {"library version", std::string(version)},
      {"network", detail::text_of({net_.hash()})},
      {"element type", std::string(name_of(parameters().type()))},
      {"seed", detail::text_of({settings_.seed})},
      {"settings", detail::describe(settings_)},
      {"strategy", strategy_->describe()},
      {"batch", detail::text_of({how.batch})},
      {"pieces of a batch", detail::text_of({how.accumulate})},
      {"epochs", detail::text_of({how.epochs})},
      {"shuffle", how.shuffle ? "yes" : "no"},
      {"sharding", how.sharding == sharding::local ? "local" : "global"},
      {"examples of the data set", detail::shapes_of(data.describe())},
      {"beginning", detail::text_of({"step ", position_.step, ", epoch ", position_.epoch, ", position ",
                                     data.indexed() ? position_.position : 0})}};
  require_same(*world_, facts);
  check_sharding(data, how.sharding, "fit");
}

/// Before the first step, on all ranks alike: connects layers that sum over the whole batch.
COHORT_CORE_INLINE void training::synchronise(plan const& made) {
  if (workers_->is_synchronised() || made.sums().forward.empty()) return;
  bool const alone = world_->size() == 1;
  if (!alone && strategy_->what() != exchanged::gradient)
    throw setting_error(
        {.what = "layers that are synchronised over ranks need a strategy that exchanges gradients",
         .where = "fit",
         .expected = "allreduce, for example, or batch_norm",
         .got = strategy_->describe()});
  workers_->synchronise(made.sums(), alone ? nullptr : world_->duplicate());
}

COHORT_CORE_INLINE fit_report training::fit(dataset const& data, fit_settings const& how) {
  check_ranks(data, how);
  check_pieces(how);
  if (how.epochs < 0)
    throw setting_error({.what = "the number of epochs is negative", .where = "fit", .got = {how.epochs}});
  check_fits(data);
  auto const made = workers_->plan_for(
      {.examples = workers_->piece_of(how.batch, how.accumulate), .accumulates = how.accumulate > 1});
  synchronise(*made);
  say_memory(*made, data, how);
  auto const batches =
      std::make_shared<loader>(data, loader_settings{.batch = how.batch,
                                                     .rank = world_->rank(),
                                                     .ranks = world_->size(),
                                                     .seed = settings_.seed,
                                                     .shuffle = how.shuffle,
                                                     .prefetch = how.prefetch,
                                                     .deadline = settings_.deadline,
                                                     .local_sizes = local_sizes(data, how.sharding)});
  std::vector<std::string> const keys = detail::keys_of(how.listeners);
  for (auto const& [key, state] : std::exchange(knew_, {}))
    for (std::size_t i = 0; i < keys.size(); ++i)
      if (keys[i] == key) how.listeners[i]->restore(state);
  listeners_ = how.listeners;
  has_common_steps_ = world_->size() == 1 || data.indexed() || strategy_->meets_each_step();
  trained_to_ = position_.step;
  struct forget {
    training& run;
    ~forget() {
      run.listeners_.clear();
      run.has_common_steps_ = true;
    }
  } const at_end{*this};
  fit_report all;
  auto const start = clock::now();
  detail::notify_on_failure([&] { train_epochs(batches, how, all); },
                            [&](char const*) { settle_what_can_be(); });
  all.seconds = since(start);
  return all;
}

COHORT_CORE_INLINE void training::train_epochs(std::shared_ptr<loader> const& batches,
                                               fit_settings const& how, fit_report& all) {
  for (int e = 0; e < how.epochs && !all.stopped; ++e) {
    auto const epoch_start = clock::now();
    epoch_report of_epoch{
        .epoch = position_.epoch, .epochs = how.epochs, .weight = so_far_.weight, .loss = so_far_.loss};
    batches->start(position_.epoch, position_.position);
    after_step next = after_step::next_step;
    std::int64_t const first_step = position_.step;
    while (next == after_step::next_step) next = train_step(batches, how, of_epoch, all);
    bool const ended = next == after_step::next_epoch;
    agree_on_step();
    votes const agreed = end_epoch();
    of_epoch.steps = position_.step - first_step;
    all.steps += of_epoch.steps;
    add_ranks(of_epoch);
    of_epoch.seconds = since(epoch_start);
    all.examples += of_epoch.examples;
    all.wait_seconds += of_epoch.wait_seconds;
    all.exchange_seconds += of_epoch.exchange_seconds;
    if (ended) {
      all.loss = of_epoch.loss;
      follow_plateau(of_epoch);
      so_far_ = {};
      position_ = {.step = position_.step, .epoch = position_.epoch + 1};
      for (listener* one : how.listeners) one->on_epoch(*this, of_epoch);
    }
    all.stopped = !ended || tell_votes(agreed, how);
  }
}

/// Where something else has ended the run already: what all have begun ends, so that this rank has whole steps.
COHORT_CORE_INLINE void training::settle_what_can_be() const try { settle(); } catch (std::exception const&) {
}

/// Lets the strategy settle what is outstanding. Returns what was voted then.
COHORT_CORE_INLINE votes training::end_epoch() {
  step_info const last{.step = position_.step - 1, .epoch = position_.epoch, .mine = wanted()};
  strategy_->end_of_epoch(last, own());
  agreement const* const met = strategy_->agreed();
  if (!met || std::exchange(meetings_, met->meetings) == met->meetings) return {};
  if (met->all.not_finite) refuse_numbers(last);
  return met->all;
}

/// One step, if the epoch has one left for any rank.
COHORT_CORE_INLINE training::after_step training::train_step(std::shared_ptr<loader> const& batches,
                                                             fit_settings const& how, epoch_report& of_epoch,
                                                             fit_report& all) {
  std::int64_t const share = static_cast<std::int64_t>(how.batch) * world_->size();
  bool const stream = batches->batches() < 0;
  auto const waiting = clock::now();
  batch const* next = batches->next();
  double const waited = since(waiting);
  if (!next) {
    if (!stream || world_->size() == 1) return after_step::next_epoch;
    next = &nothing_;  // others may have some left
  } else if (next->count == 0 && world_->size() == 1) {
    return after_step::next_step;
  }
  step_info const now{.step = position_.step,
                      .epoch = position_.epoch,
                      .examples = next->count,
                      .weight = next->weight(),
                      .expected = next->global_count > 0 ? next->global_count : share,
                      .mine = wanted(),
                      .data_ended = next == &nothing_};
  world_->note({now.step, -1});
  auto const working = clock::now();
  auto done =
      unless_late(batches, [&] { return workers_->step(*next, now, *strategy_, update(), how.accumulate); });
  if (!done.finite)
    if (std::string const where = workers_->trouble(); !where.empty())
      troubles_.push_back(detail::text_of({is_finite(done.loss) ? gradient_mark : loss_mark, "step ",
                                           now.step, ", epoch ", now.epoch, ", ", where}));

  agreement const alone{.meetings = meetings_ + 1, .examples = 1, .all = now.mine};
  agreement met = strategy_->agreed() ? *strategy_->agreed() : alone;
  bool const meets = std::exchange(meetings_, met.meetings) != met.meetings;
  if (meets && met.examples == 0) return after_step::next_epoch;  // of a stream: nobody has any left
  if (!meets) met.all = {};                                       // is of an earlier step
  bool const exchanges = strategy_->agreed() && strategy_->what() == exchanged::gradient;
  if (exchanges)
    met.all.not_finite |= !done.all_finite;
  else if (!strategy_->agreed())
    met.all.not_finite |= !done.finite;

  std::int64_t const place = batches->batches() < 0            ? -1
                             : how.sharding == sharding::local ? position_.position / how.batch
                                                               : position_.position / share;
  bool const counts = has_common_steps_ || next->count > 0;
  position_.step += 1 + (meets ? met.skipped_steps : 0);
  if (counts) trained_to_ = position_.step;
  if (next != &nothing_) position_.position = next->next_position;
  of_epoch.steps += counts ? 1 : 0;
  of_epoch.examples += next->count;
  if (done.finite) {
    of_epoch.loss += done.loss;
    of_epoch.weight += now.weight;
    so_far_ = {of_epoch.loss, of_epoch.weight};
  }
  of_epoch.wait_seconds += waited;
  of_epoch.exchange_seconds += done.exchange_seconds;
  if (met.all.not_finite) refuse_numbers(now);
  bool const weightless = exchanges ? meets && met.weight <= 0 : next->count > 0 && now.weight <= 0;
  if (weightless && settings_.log)
    settings_.log(detail::text_of(
        {"step left out: the weights of all examples of step ", now.step, ", epoch ", now.epoch, ", are 0"}));
  if (weightless || (exchanges ? met.all.not_finite : !done.finite)) ++all.skipped;
  done.times.data = waiting;
  step_report const report{.step = now.step,
                           .epoch = now.epoch,
                           .step_in_epoch = place < 0 ? of_epoch.steps - 1 : place,
                           .steps_in_epoch = batches->batches(),
                           .examples = next->count,
                           .loss = now.weight > 0 ? done.loss / now.weight : 0,
                           .step_seconds = since(working),
                           .wait_seconds = waited,
                           .exchange_seconds = done.exchange_seconds,
                           .bytes_sent = world_->sent().bytes_sent,
                           .ranks = world_->size(),
                           .updated = done.updated,
                           .times = done.times};
  if (counts) {
    in_step_ = true;
    for (listener* one : how.listeners) one->on_step(*this, report);
    in_step_ = false;
  }
  return meets && tell_votes(met.all, how) ? after_step::stop : after_step::next_step;
}

/// Counts steps as the rank does that has trained longest. A rank whose part of a stream has ended may have skipped more steps than
/// the others have made since.
///
/// Order     collective where has_common_steps() is false; else it does nothing.
COHORT_CORE_INLINE void training::agree_on_step() {
  if (has_common_steps_) return;
  auto last = static_cast<std::uint64_t>(trained_to_);
  world_->allreduce(std::span<std::uint64_t>(&last, 1), reduction::maximum);
  position_.step = trained_to_ = static_cast<std::int64_t>(last);
}

/// Whether all agreed to stop.
COHORT_CORE_INLINE bool training::tell_votes(votes const& all, fit_settings const& how) {
  if (!all.stop && !all.save) return false;
  agree_on_step();
  if (all.stop) wishes_->stop.store(false);
  wishes_->save.store(false);
  for (listener* one : how.listeners) one->on_vote(*this, all);
  return all.stop;
}

/// All ranks know that a number was not finite on one of them: says on which and where, and stops or leaves the step out.
COHORT_CORE_INLINE void training::refuse_numbers(step_info const& now) {
  std::string trouble;
  if (!troubles_.empty()) {
    trouble = std::move(troubles_.front());
    troubles_.erase(troubles_.begin());
  }
  std::string where;
  bool of_loss = false;
  auto const hear = [&](std::string_view told, std::string_view rank) {
    if (told.empty()) return;
    of_loss = of_loss || told[0] == loss_mark[0];
    where += detail::text_of({where.empty() ? "" : "; ", rank, told.substr(1)});
  };
  if (world_->size() == 1) {
    hear(trouble, "");
  } else {
    gathered const all = world_->allgatherv(std::as_bytes(std::span(trouble)));
    for (int r = 0; r < world_->size(); ++r)
      hear({reinterpret_cast<char const*>(all.of(r).data()), all.of(r).size()},
           detail::text_of({"rank ", r, ": "}));
  }
  if (where.empty())
    where = detail::text_of({"step ", now.step, ", epoch ", now.epoch, ", in the sum over the ranks"});
  numeric_error const why({.what = of_loss ? "the loss is not finite" : "a gradient is not finite",
                           .where = where,
                           .expected = "finite numbers; a smaller learning rate, or data without NaN",
                           .got = "NaN or infinity"});
  if (settings_.not_finite == when_not_finite::stop) throw why;
  if (settings_.log) settings_.log(detail::text_of({"step left out: ", why.what()}));
}

/// All ranks have seen the same mean loss of an epoch.
COHORT_CORE_INLINE void training::follow_plateau(epoch_report const& of_epoch) {
  if (!settings_.plateau || of_epoch.weight <= 0) return;
  double const before = plateau_.factor;
  plateau_ = plateau_.after(of_epoch.loss, *settings_.plateau);
  if (settings_.log && plateau_.factor != before)
    settings_.log(detail::text_of({"the loss has stopped falling: rates times ", plateau_.factor,
                                   " from epoch ", position_.epoch + 1, " on"}));
}

/// Makes the examples and the loss of an epoch those of all ranks.
COHORT_CORE_INLINE void training::add_ranks(epoch_report& of_epoch) const {
  double sums[3]{static_cast<double>(of_epoch.examples), of_epoch.weight, of_epoch.loss};
  world_->allreduce(std::span<double>(sums));
  of_epoch.examples = static_cast<std::int64_t>(sums[0]);
  of_epoch.weight = sums[1];
  of_epoch.loss = sums[1] > 0 ? sums[2] / sums[1] : 0;
}

}  // namespace cohort
