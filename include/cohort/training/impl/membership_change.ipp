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
  std::int64_t membership = 0;  // the former one; 0: the process joins
  std::int64_t agreements = 0;  // steps, or meetings in the former membership
  std::int64_t step = 0, epoch = 0, position = 0, last_met = 0;
  std::int64_t has_ended = 0, epochs = 0, stop = 0, save = 0, has_stopped = 0, steps = 0, examples = 0,
               ignored = 0;
  double weight = 0, loss = 0;
  std::uint64_t facts = 0;

  /// Ranks for which this is equal have the same state, except for their steps since the last meeting.
  auto agreed() const { return std::tuple(membership, agreements, epoch); }
  /// Order of the positions of one run.
  auto progress() const { return std::tuple_cat(agreed(), std::tuple(has_ended == 0, has_stopped, step)); }
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

void membership_change::begin() {
  if (!renewal_) {  // not after a transfer that has failed
    strategy const& former = *run_.exchange_strategy;
    renewal_ = former.renewal();
    meets_each_step_ = former.meets_each_step();
    has_local_optimizer_state_ = former.has_local_optimizer_state();
    meetings_ = run_.voting.meetings();
    former_membership_ = world_.waits_to_join() ? 0 : world_.membership();
    strategy_state_ = checkpoint_codec(run_).strategy_bytes();
  }
  run_.checkpoints.leave_ranks();
  run_.exchange_strategy = std::make_shared<no_exchange>();  // closes the former membership
  run_.workers->disconnect_sums();
  world_.regroup(run_.position.step);
}

membership_change::header membership_change::own_header(fit_position const& position,
                                                        std::uint64_t facts) const {
  epoch_report const ended = position.ended.value_or(epoch_report());
  return {.membership = former_membership_,
          .agreements = meets_each_step_ ? run_.position.step : meetings_,
          .step = run_.position.step,
          .epoch = run_.position.epoch,
          .position = run_.position.position,
          .last_met = position.last_met,
          .has_ended = position.ended ? 1 : 0,
          .epochs = position.epochs,
          .stop = position.agreed.stop ? 1 : 0,
          .save = position.agreed.save ? 1 : 0,
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
  all[self] = own_header(position, facts);
  world_.allgather({reinterpret_cast<std::byte*>(all.data()), element_type::u8, all.size() * sizeof(header)});
  auto const first = std::ranges::max_element(all, {}, &header::progress);
  if (first->membership == 0)
    throw communicator_error({.what = "no rank has the state of the run", .where = "fit"}, 1);
  if (facts != first->facts) {
    world_.leave();  // the other ranks continue
    throw setting_error({.what = "this process cannot join a run that differs",
                         .where = "fit",
                         .expected = "the network, settings, strategy and data of the other ranks",
                         .got = "others"});
  }
  last_step_ = first->step;
  send_state(all, *first);
  bool const loads = all[self].agreed() != first->agreed();
  if (loads) {
    run_.position = {.step = first->step, .epoch = first->epoch, .position = first->position};
    position.last_met = first->last_met;
    meetings_ = first->agreements;
  }
  if (loads || all[self].has_ended != first->has_ended || all[self].has_stopped != first->has_stopped) {
    position.epochs = first->epochs;
    position.stopped = first->has_stopped != 0;
    position.agreed = {.stop = first->stop != 0, .save = first->save != 0};
    position.ended.reset();
    if (first->has_ended != 0)
      position.ended = {.epoch = first->epoch - 1,
                        .epochs = first->epoch + first->epochs - 1,
                        .steps = first->steps,
                        .examples = first->examples,
                        .ignored = first->ignored,
                        .weight = first->weight,
                        .loss = first->loss};
  }
  has_new_state_ = has_new_state_ || loads;
  make_strategy(all, *first);
  return has_new_state_;
}

/// Sends the state of the rank `from` to all ranks. The ranks that have not completed its last agreement load
/// it.
void membership_change::send_state(std::vector<header> const& all, header const& from) {
  auto const lacks = [&](header const& rank) { return rank.agreed() != from.agreed(); };
  if (std::ranges::none_of(all, lacks)) return;
  auto const root = static_cast<int>(&from - all.data());
  std::string bytes;
  if (world_.rank() == root) bytes = checkpoint_codec(run_).shared_bytes();
  std::uint64_t size = bytes.size();
  world_.broadcast(std::span(&size, 1), root);
  bytes.resize(size);
  world_.broadcast({reinterpret_cast<std::byte*>(bytes.data()), element_type::u8, bytes.size()}, root);
  header const& own = all[static_cast<std::size_t>(world_.rank())];
  replica const arrays_of_rank = run_.current_replica();
  std::vector<buffer> local_arrays;
  if (has_local_optimizer_state_ && own.membership == from.membership)
    for (int array = 1; array < arrays_of_rank.arrays(); ++array)
      arrays_of_rank.read(array, local_arrays.emplace_back(arrays_of_rank.bytes()).data());
  if (lacks(own)) checkpoint_codec(run_).load_shared(bytes);
  if (lacks(own))
    for (std::size_t array = 0; array < local_arrays.size(); ++array)
      arrays_of_rank.write(static_cast<int>(array) + 1, local_arrays[array].data());
  if (has_local_optimizer_state_) send_mean_of_local_states(all, from);
}

/// Gives the processes that join the mean of the other ranks' optimizer states.
void membership_change::send_mean_of_local_states(std::vector<header> const& all, header const& from) {
  auto const joins = [&](header const& rank) { return rank.membership != from.membership; };
  auto const joining = std::ranges::count_if(all, joins);
  if (joining == 0) return;
  double const members = static_cast<double>(std::ssize(all) - joining);
  bool const is_member = !joins(all[static_cast<std::size_t>(world_.rank())]);
  replica const arrays_of_rank = run_.current_replica();
  buffer const dense(arrays_of_rank.bytes());
  for (int array = 1; array < arrays_of_rank.arrays(); ++array) {
    arrays_of_rank.read(array, dense.data());
    with_real(arrays_of_rank.parameters.type(), [&]<class T>(T*) {
      std::span<T> const values(dense.as<T>(),
                                static_cast<std::size_t>(arrays_of_rank.parameters.elements()));
      for (T& value : values) value = is_member ? static_cast<T>(static_cast<double>(value) / members) : T(0);
      world_.allreduce(values);
    });
    if (!is_member) arrays_of_rank.write(array, dense.data());
  }
}

void membership_change::make_strategy(std::vector<header> const& all, header const& from) {
  std::shared_ptr<strategy> next = renewal_(world_);
  auto const lacks = [&](header const& rank) { return rank.agreed() != from.agreed(); };
  header const& own = all[static_cast<std::size_t>(world_.rank())];
  bool const joins = lacks(own);
  // A rank that has taken part in the last agreement of `from` restores its own state first.
  if (joins && own.membership == from.membership)
    checkpoint_codec::restore_strategy(*next, strategy_state_, false);
  if (std::ranges::any_of(all, lacks)) {
    auto const root = static_cast<int>(&from - all.data());
    std::uint64_t size = strategy_state_.size();
    world_.broadcast(std::span(&size, 1), root);
    std::string bytes = joins ? std::string() : strategy_state_;
    bytes.resize(size);
    world_.broadcast({reinterpret_cast<std::byte*>(bytes.data()), element_type::u8, bytes.size()}, root);
    if (joins) strategy_state_ = std::move(bytes);
  }
  checkpoint_codec::restore_strategy(*next, strategy_state_, joins);
  next->set_workers(run_.workers->size());
  run_.exchange_strategy = std::move(next);
  if (joins) strategy_state_ = checkpoint_codec(run_).strategy_bytes();  // for another change
  run_.voting.restart();
}

}  // namespace cohort::detail
