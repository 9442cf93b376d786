// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/training/detail/carried_states.hpp>
#include <cohort/training/detail/checkpoint_codec.hpp>
#include <cohort/training/detail/membership_change.hpp>
#include <cohort/training/settings.hpp>
#include <span>
#include <string>
#include <tuple>
#include <utility>

namespace cohort::detail {

/// State of a rank at the beginning of a membership, in numbers.
struct membership_change::header {
  std::int64_t membership = 0;  // the last one in which this process had the state; 0: it joins
  last_agreement last{};
  std::int64_t step = 0, position = 0, last_met = 0;
  std::int64_t has_ended = 0, epochs = 0, stop = 0, save = 0, is_stopping = 0, has_stopped = 0, steps = 0,
               examples = 0, ignored = 0;
  double weight = 0, loss = 0;
  std::uint64_t facts = 0;

  /// Ranks for which this is equal have the same state, except for their steps since the last meeting.
  auto agreed() const { return std::tuple(membership > 0, last.order()); }
  /// Order of the positions of one run.
  auto progress() const { return std::tuple(agreed(), has_ended == 0, has_stopped, step); }
  /// Returns whether this rank's own part of the state belongs to that of the rank `from`, which may have
  /// completed an agreement that was interrupted on this rank.
  bool keeps_own_part(header const& from) const { return membership >= from.last.membership; }
};

/// State of another rank, which this rank has received.
struct membership_change::received_state {
  std::string shared{}, strategy{};
  std::vector<buffer> local_arrays{};  // of the optimizers: the mean over the ranks
};

void membership_change::check(training_state& run, dataset const& data, fit_settings const& settings) {
  auto const refuse = [](char const* problem, clause expected, clause got) {
    throw setting_error({.what = problem,
                         .where = "fit, ranks that may change",
                         .expected = std::move(expected),
                         .got = std::move(got)});
  };
  if (!run.exchange_strategy->renewal())
    refuse(
        "the strategy does not support that ranks leave and join",
        "allreduce without overlap_next_forward and without shards, parameter_averaging without overlap, or "
        "share::gradient without max_staleness and sync_buffers",
        run.exchange_strategy->describe());
  if (!data.indexed() || settings.sharding == sharding::local)
    refuse("the examples cannot be divided among other ranks", "an indexed data set with sharding::global",
           data.indexed() ? "sharding::local" : "a stream");
  if (!stateful_layer_name(run.net).empty())
    refuse("the rows of a stateful layer cannot be divided among other ranks", "no stateful layer",
           stateful_layer_name(run.net));
}

void membership_change::begin(fit_position const& position) {
  if (!renewal_) {  // not after a transfer that has failed
    strategy const& former = *run_.exchange_strategy;
    renewal_ = former.renewal();
    has_local_optimizer_state_ = former.has_local_optimizer_state();
    former_membership_ = world_.waits_to_join() ? 0 : world_.membership();
    last_ = last_agreement_of(former, position.transferred);
    strategy_state_ = checkpoint_codec(run_).strategy_bytes();
  }
  run_.checkpoints.leave_ranks();
  run_.exchange_strategy = std::make_shared<no_exchange>();  // closes the former membership
  run_.workers->disconnect_sums();
  world_.regroup(run_.position.step);
}

/// The last agreement of this rank. `before`: that at the beginning of the former membership.
last_agreement membership_change::last_agreement_of(strategy const& former,
                                                    last_agreement const& before) const {
  last_agreement last{.membership = before.membership,
                      .count = run_.position.step,
                      .epoch = run_.position.epoch,
                      .synchronised = 0};
  if (former.meets_each_step())
    last.synchronised = former.diverged() ? 0 : 1;
  else
    last.count = before.count + (former.agreed() ? former.agreed()->meetings : 0);
  if (before.membership == 0 || last.order() != before.order()) last.membership = former_membership_;
  return last;
}

membership_change::header membership_change::own_header(fit_position const& position,
                                                        std::uint64_t facts) const {
  epoch_report const ended = position.ended.value_or(epoch_report());
  return {.membership = former_membership_,
          .last = last_,
          .step = run_.position.step,
          .position = run_.position.position,
          .last_met = position.last_met,
          .has_ended = position.ended ? 1 : 0,
          .epochs = position.epochs,
          .stop = position.agreed.stop ? 1 : 0,
          .save = position.agreed.save ? 1 : 0,
          .is_stopping = position.is_stopping ? 1 : 0,
          .has_stopped = position.stopped ? 1 : 0,
          .steps = ended.steps,
          .examples = ended.examples,
          .ignored = ended.ignored,
          .weight = ended.weight,
          .loss = ended.loss,
          .facts = facts};
}

bool membership_change::transfer(fit_position& position, std::uint64_t facts) {
  std::vector<header> all(static_cast<std::size_t>(world_.size()));
  auto const self = static_cast<std::size_t>(world_.rank());
  header const& own = all[self] = own_header(position, facts);
  world_.allgather({reinterpret_cast<std::byte*>(all.data()), element_type::u8, all.size() * sizeof(header)});
  header const& from = *std::ranges::max_element(all, {}, &header::progress);
  if (from.membership == 0)
    throw communicator_error({.what = "no rank has the state of the run", .where = "fit"}, 1);
  if (facts != from.facts) {
    world_.leave();  // the other ranks continue
    throw setting_error({.what = "this process cannot join a run that differs",
                         .where = "fit",
                         .expected = "the network, settings, strategy and data of the other ranks",
                         .got = "others"});
  }
  received_state const received = exchange_states(all, from);
  std::shared_ptr<strategy> next = renewal_(world_);
  // From here on, nothing is collective: an error on another rank leaves the whole state, old or new.
  last_step_ = from.step;
  bool const loads = own.agreed() != from.agreed();
  if (loads || own.has_ended != from.has_ended || own.has_stopped != from.has_stopped) {
    position.epochs = from.epochs;
    position.stopped = from.has_stopped != 0;
    position.agreed = {.stop = from.stop != 0, .save = from.save != 0};
    position.ended.reset();
    if (from.has_ended != 0)
      position.ended = {.epoch = from.last.epoch - 1,
                        .epochs = from.last.epoch + from.epochs - 1,
                        .steps = from.steps,
                        .examples = from.examples,
                        .ignored = from.ignored,
                        .weight = from.weight,
                        .loss = from.loss};
  }
  position.is_stopping = std::ranges::any_of(all, [](header const& rank) { return rank.is_stopping != 0; });
  if (loads) {
    load(own, from, received);
    position.last_met = from.last_met;
  }
  position.transferred = from.last;
  make_strategy(std::move(next), own, from, received);
  return has_new_state_;
}

/// Sends the state of the rank `from` to the ranks that have not completed its last agreement.
membership_change::received_state membership_change::exchange_states(std::vector<header> const& all,
                                                                     header const& from) {
  received_state received;
  if (std::ranges::none_of(all, [&](header const& rank) { return rank.agreed() != from.agreed(); }))
    return received;
  auto const root = static_cast<int>(&from - all.data());
  if (world_.rank() == root)
    received = {.shared = checkpoint_codec(run_).shared_bytes(), .strategy = strategy_state_};
  for (std::string* const bytes : {&received.shared, &received.strategy}) {
    std::uint64_t size = bytes->size();
    world_.broadcast(std::span(&size, 1), root);
    bytes->resize(size);
    world_.broadcast({reinterpret_cast<std::byte*>(bytes->data()), element_type::u8, bytes->size()}, root);
  }
  if (has_local_optimizer_state_) received.local_arrays = mean_of_local_states(all, from);
  return received;
}

/// Returns the mean of the optimizer states of the ranks that keep theirs, on the other ranks.
std::vector<buffer> membership_change::mean_of_local_states(std::vector<header> const& all,
                                                            header const& from) {
  std::vector<buffer> means;
  auto const members =
      std::ranges::count_if(all, [&](header const& rank) { return rank.keeps_own_part(from); });
  if (members == std::ssize(all)) return means;
  bool const is_member = all[static_cast<std::size_t>(world_.rank())].keeps_own_part(from);
  replica const arrays_of_rank = run_.current_replica();
  for (int array = 1; array < arrays_of_rank.arrays(); ++array) {
    buffer dense(arrays_of_rank.bytes());
    arrays_of_rank.read(array, dense.data());
    with_real(arrays_of_rank.parameters.type(), [&]<class T>(T*) {
      std::span<T> const values(dense.as<T>(),
                                static_cast<std::size_t>(arrays_of_rank.parameters.elements()));
      for (T& value : values)
        value = is_member ? static_cast<T>(static_cast<double>(value) / static_cast<double>(members)) : T(0);
      world_.allreduce(values);
    });
    if (!is_member) means.push_back(std::move(dense));
  }
  return means;
}

/// Replaces this rank's state, except for its own part.
void membership_change::load(header const& own, header const& from, received_state const& received) {
  replica const arrays_of_rank = run_.current_replica();
  std::vector<buffer> kept;
  if (has_local_optimizer_state_ && own.keeps_own_part(from))
    for (int array = 1; array < arrays_of_rank.arrays(); ++array)
      arrays_of_rank.read(array, kept.emplace_back(arrays_of_rank.bytes()).data());
  checkpoint_codec(run_).load_shared(received.shared);
  std::vector<buffer> const& local = own.keeps_own_part(from) ? kept : received.local_arrays;
  for (std::size_t array = 0; array < local.size(); ++array)
    arrays_of_rank.write(static_cast<int>(array) + 1, local[array].data());
  run_.position = {.step = from.step, .epoch = from.last.epoch, .position = from.position};
  has_new_state_ = true;
}

void membership_change::make_strategy(std::shared_ptr<strategy> next, header const& own, header const& from,
                                      received_state const& received) {
  bool const loads = own.agreed() != from.agreed();
  bool const lacks_step =
      own.last.count != from.last.count || own.last.synchronised != from.last.synchronised;
  bool const joins = loads && (lacks_step || !own.keeps_own_part(from));
  if (!joins || own.keeps_own_part(from)) checkpoint_codec::restore_strategy(*next, strategy_state_, false);
  if (joins) checkpoint_codec::restore_strategy(*next, received.strategy, true);
  next->set_workers(run_.workers->size());
  run_.exchange_strategy = std::move(next);
  run_.voting.restart();
  if (!loads) return;
  // For another change before this one is confirmed.
  strategy_state_ = checkpoint_codec(run_).strategy_bytes();
  last_ = from.last;
  former_membership_ = world_.membership();
}

}  // namespace cohort::detail
