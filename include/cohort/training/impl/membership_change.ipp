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
  std::int64_t step = 0, epoch = 0, position = 0;
  std::int64_t has_ended = 0, epochs = 0, stop = 0, save = 0, has_stopped = 0, steps = 0, examples = 0,
               ignored = 0;
  double weight = 0, loss = 0;
  std::uint64_t facts = 0;

  /// Order of the positions of one run.
  auto progress() const { return std::tuple(membership, step, epoch, has_ended == 0, has_stopped); }
};

void membership_change::check(training_state& run, dataset const& data, fit_settings const& settings) {
  auto const refuse = [](char const* problem, clause expected, clause got) {
    throw setting_error({.what = problem,
                         .where = "fit, ranks that may change",
                         .expected = std::move(expected),
                         .got = std::move(got)});
  };
  if (!run.exchange_strategy->renewal())
    refuse("the strategy does not support that ranks leave and join",
           "allreduce without overlap_next_forward and without shards", run.exchange_strategy->describe());
  if (!data.indexed() || settings.sharding == sharding::local)
    refuse("the examples cannot be divided among other ranks", "an indexed data set with sharding::global",
           data.indexed() ? "sharding::local" : "a stream");
  if (!stateful_layer_name(run.net).empty())
    refuse("the rows of a stateful layer cannot be divided among other ranks", "no stateful layer",
           stateful_layer_name(run.net));
  if (run.workers->is_synchronised())
    refuse("layers that sum over the batch of all ranks do not support that ranks leave and join",
           "batch_norm instead of synchronised layers", "synchronised layers");
}

void membership_change::begin() {
  if (!renewal_) {  // not after a transfer that has failed
    renewal_ = run_.exchange_strategy->renewal();
    former_membership_ = world_.waits_to_join() ? 0 : world_.membership();
    strategy_state_ = checkpoint_codec(run_).strategy_bytes();
    run_.checkpoints.leave_ranks();
    run_.exchange_strategy = std::make_shared<no_exchange>();  // closes the former membership
  }
  world_.regroup(run_.position.step);
}

membership_change::header membership_change::own_header(fit_position const& position,
                                                        std::uint64_t facts) const {
  epoch_report const ended = position.ended.value_or(epoch_report());
  return {.membership = former_membership_,
          .step = run_.position.step,
          .epoch = run_.position.epoch,
          .position = run_.position.position,
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
  std::vector<bool> is_behind;
  for (header const& rank : all) is_behind.push_back(rank.progress() != first->progress());
  if (std::ranges::find(is_behind, true) != is_behind.end())
    send_state(static_cast<int>(first - all.begin()), is_behind[self]);
  if (is_behind[self]) {
    run_.position = {.step = first->step, .epoch = first->epoch, .position = first->position};
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
  has_new_state_ = has_new_state_ || is_behind[self];
  make_strategy(is_behind);
  world_.confirm();
  return has_new_state_;
}

/// Sends the state of rank `from` to all ranks. A rank that is behind loads it.
void membership_change::send_state(int from, bool is_behind) {
  std::string bytes;
  if (world_.rank() == from) bytes = checkpoint_codec(run_).shared_bytes();
  std::uint64_t size = bytes.size();
  world_.broadcast(std::span(&size, 1), from);
  bytes.resize(size);
  world_.broadcast({reinterpret_cast<std::byte*>(bytes.data()), element_type::u8, bytes.size()}, from);
  if (is_behind) checkpoint_codec(run_).load_shared(bytes);
}

void membership_change::make_strategy(std::vector<bool> const& is_behind) {
  std::shared_ptr<strategy> next = renewal_(world_);
  gathered const states = world_.allgatherv(std::as_bytes(std::span(strategy_state_)));
  auto const count = static_cast<int>(std::ranges::count(is_behind, false));
  int former = 0;
  for (int rank = 0; rank < world_.size(); ++rank)
    if (!is_behind[static_cast<std::size_t>(rank)])
      checkpoint_codec::restore_strategy(*next, states.of(rank), former++, count);
  next->set_workers(run_.workers->size());
  run_.exchange_strategy = std::move(next);
  run_.voting.restart();
}

}  // namespace cohort::detail
