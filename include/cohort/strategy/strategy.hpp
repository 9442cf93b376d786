// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <cohort/detail/chrono.hpp>
#include <cohort/plan/gradient_parts.hpp>
#include <cohort/plan/replica.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

/// Votes that ranks exchange together with their arrays. A vote of one rank applies to all ranks.
struct votes {
  bool stop = false;        ///< end the run
  bool save = false;        ///< write a checkpoint
  bool not_finite = false;  ///< a loss or gradient of this rank is not finite

  constexpr bool operator==(votes const&) const = default;
  constexpr votes& operator|=(votes const& other) {
    stop |= other.stop;
    save |= other.save;
    not_finite |= other.not_finite;
    return *this;
  }
};

/// Result of a meeting, an exchange in which all ranks take part: the same on every rank.
///
/// Units     `meetings`: number of meetings so far. `examples`: number of examples of all ranks since the
///           previous meeting; 0 if no rank has examples left. `weight`: sum of the ranks' weights
///           (step_info). `all`: the votes of all ranks. `skipped_steps`: number of steps before the meeting
///           that this rank skipped because its data had ended (step_info::data_ended).
struct agreement {
  std::int64_t meetings = 0;
  std::int64_t examples = 0;
  double weight = 0;
  votes all{};
  std::int64_t skipped_steps = 0;
};

/// Progress of a run when a hook is called.
///
/// Units     `step` counts updates from 0. `examples`: number of this rank's examples in this step. `weight`:
///           sum of these examples' weights (1 for an example without a weight). If the losses are means over
///           the steps of masked sequences, each weight is multiplied by the example's number of unmasked
///           steps. `expected`: number of examples of all ranks, exact except at a stream's end. `mine`: the
///           votes of this rank. `max_late_buckets`: how many of the first buckets may be late (see
///           finish_late). `data_ended`: this rank's part of a stream has ended; other ranks may have
///           examples left. A strategy whose ranks do not meet in every step may then skip to the next
///           meeting. `defers_meeting`: after_update makes no meeting; the caller calls end_of_epoch when
///           meeting_is_due().
struct step_info {
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  int examples = 0;
  double weight = 0;
  std::int64_t expected = 0;
  votes mine{};
  int max_late_buckets = 0;
  bool data_ended = false;
  bool defers_meeting = false;
};

/// State of a strategy on this rank between two steps, for a checkpoint. The names and arrays belong to the
/// strategy and stay valid until its next call.
struct strategy_state {
  struct count {
    std::string_view name;
    std::int64_t value;
  };
  struct array {
    std::string_view name;
    element_type type;
    std::span<std::byte const> values;
  };
  std::vector<count> counts{};
  std::vector<array> arrays{};
};

/// A number that a strategy has measured on its rank, for reports: a sum since the start, or the current
/// value.
struct measurement {
  std::string_view name;
  double value = 0;
  bool is_sum = false;
};

/// Times of the parts of an exchange on this rank, for a timeline. A part that a strategy does not measure
/// has equal begin and end.
struct exchange_times {
  struct span {
    std::chrono::steady_clock::time_point begin{}, end{};
  };
  span encode{};    ///< the rank encodes its message
  span transfer{};  ///< the exchange is in flight; the rank may do other work
  span apply{};     ///< the rank applies the received values
};

/// Quantity that ranks exchange. With `gradient`, the training loop calls strategy::ready for every bucket.
/// With `parameters` and `nothing`, the optimizer sums the workers' gradients.
enum class exchanged { nothing, gradient, parameters };

/// Determines how ranks train together, by hooks that a training loop calls in this order in each step.
///
/// begin          The parameters may still change: the strategy applies received data, or waits for slower
///                ranks.
/// ready          With `gradient` only: a bucket's gradient is complete on all workers of this rank, while
///                backward still runs on the layers below. `gradients.pack` copies the rank's sum. Called for
///                one bucket after another, in the same order on every rank, on the thread of the last worker
///                that completes the bucket. On a rank without examples the gradients are zeros. In the first
///                gradient part, the bucket's elements may be in flight until before_update (or finish_late,
///                if the bucket is late) or abandon returns. Until then the caller neither accesses nor frees
///                these elements.
/// before_update  With `gradient` only: called after ready for every bucket. Writes the exchanged gradients
///                back by `gradients.unpack`, and merges the statistics of the batch by merge_statistics.
///                Without the merge, each rank's running statistics cover only its own examples. Returns
///                whether the step is taken: the same on every rank.
/// shard_ranks    If shard() is not empty, the result's exchanges are called in the update after
///                before_update: find_maxima for the finite gradient and for each phase of norms, then
///                gather. If late_buckets() is above 0 then, the parameters of these buckets are gathered
///                when finish_late returns.
/// finish_late    Writes back the sums of the late buckets, which were still pending when before_update
///                returned. These are the first late_buckets() buckets, the same number on every rank, at
///                most step_info::max_late_buckets. Before this call, the layers of these buckets have not
///                taken the step. These layers' parameters and gradients are not read or written, not even by
///                this step's after_update or the next step's begin. Called once: while the next step's
///                forward runs on the layers below, or before consensus, state, bytes and end_of_epoch.
/// after_update   The parameters have taken the step, or (`updated` false) have not taken it, because the
///                step had no examples or a loss or gradient was not finite.
/// end_of_epoch   No step is running; no exchange may be pending afterwards. Also called if a vote ends the
///                run within an epoch, after the listeners have saved.
/// consensus      For evaluation and checkpoints if ranks differ. Fills the dense canonical arrays of a
///                replica (replica.read) with the values that all ranks would have after a meeting at this
///                point. Does not change the run.
///
/// Order     every hook is called in the same steps on every rank, and may communicate; one thread at a time.
/// Before    gradients are those of the mean loss over this rank's examples: Σ weight·loss / Σ weight.
/// Errors    an exception from a hook ends the run on this rank. After an exception in a step, `abandon` is
///           called with the exception's text, which the other ranks report. After `abandon` no pending
///           operation accesses memory that may be freed.
class strategy {
 public:
  virtual ~strategy() = default;
  /// Returns the quantity that the ranks exchange.
  virtual exchanged what() const { return exchanged::gradient; }
  /// Returns name and settings. Ranks with different texts refuse to train together.
  virtual std::string describe() const { return "user-defined strategy"; }

  /// Called before the other hooks with the number of this rank's workers. Workers are idle while hooks run,
  /// except in `ready`.
  virtual void set_workers(int) {}
  virtual void begin(step_info const&, replica const&) {}
  virtual void ready(step_info const&, bucket const&, gradient_parts&) {}
  virtual bool before_update(step_info const&, gradient_parts&) { return true; }
  virtual int late_buckets() const { return 0; }
  virtual void finish_late(gradient_parts&) {}
  virtual void after_update(step_info const&, replica const&, bool /*updated*/) {}
  virtual void end_of_epoch(step_info const&, replica const&) {}
  /// Returns whether ranks differ now; the result is the same on every rank. If false, consensus is not
  /// called.
  virtual bool diverged() const { return false; }
  virtual void consensus(replica const&, std::span<std::byte* const> /*dense arrays*/) {}
  /// Returns whether runs may have a moving average of the parameters (training_settings::average_decay). The
  /// average follows the optimizers' update, so the strategy must not replace the updated parameters, unless
  /// it averages all arrays of the replica over the ranks.
  virtual bool supports_average_decay() const { return what() != exchanged::parameters; }

  /// Returns the elements whose state a rank has and updates, if the optimizers' state is sharded over the
  /// ranks.
  /// After before_update, the gradient is then defined for these elements of this rank only.
  virtual std::optional<state_shard> shard(parameter_set const&, int /*rank*/) const { return std::nullopt; }
  /// Returns the exchanges of an update with a shard; null without.
  virtual shard_exchange* shard_ranks() { return nullptr; }
  /// Returns how many bytes of the workers' gradients are free at any time of a step without micro-batches,
  /// because the strategy frees elements outside the shard.
  virtual std::size_t freed_gradients(parameter_set const&) const { return 0; }
  /// Returns how many bytes of the parameters are free at any time of a step, because the strategy frees
  /// elements that only other ranks update (parameter_update::frees_parameters).
  virtual std::size_t freed_parameters(parameter_set const&) const { return 0; }

  /// Ends this rank's part of a failed step. The other ranks report `why`.
  virtual void abandon(std::string_view /*why*/) noexcept {}
  /// Returns whether ranks meet in every step, so that agreed() describes that step. Otherwise a rank is
  /// informed only at the next meeting that no rank had examples left. Ranks that share a stream then do not
  /// call listeners in the same steps (training::has_common_steps).
  virtual bool meets_each_step() const { return what() == exchanged::gradient; }
  /// Returns whether the ranks must meet before the next step (step_info::defers_meeting).
  virtual bool meeting_is_due() const { return false; }
  /// Returns whether each rank has its own state of the optimizers, also after a meeting.
  virtual bool has_local_optimizer_state() const { return false; }
  /// Returns the result of the last meeting; null if the strategy has no meetings. Such a strategy supports
  /// only a single rank, because several ranks could not end together.
  virtual agreement const* agreed() const { return nullptr; }

  /// Returns the state for a checkpoint. After `restore` with this state, and with the replica restored, a
  /// run continues as if it had not stopped.
  virtual strategy_state state() const { return {}; }
  virtual void restore(strategy_state const&) {}
  /// Restores from the states of the ranks of a previous run, if the run continues with another number of
  /// ranks. The replica has the previous run's consensus. Called once per former rank, in the same order on
  /// every rank.
  virtual void restore_from_ranks(strategy_state const&, int /*former rank*/, int /*ranks*/) {}
  /// Returns a function that makes a strategy with the same settings for other ranks, after this strategy was
  /// destroyed; empty if the ranks of a run cannot change (elastic_communicator). An error in a step, or in
  /// end_of_epoch, must then have changed neither parameters nor state. Each rank restores its own state();
  /// a rank that joins calls `join` instead.
  virtual std::function<std::unique_ptr<strategy>(communicator&)> renewal() const { return {}; }
  /// Restores what all ranks have in common from the state of a rank whose parameters this rank has loaded.
  /// This rank has no examples since the last meeting, and weight 0 in the next one.
  virtual void join(strategy_state const& /*of a rank*/) { restore({}); }

  /// Returns the number of bytes that the strategy will allocate for a replica. The number is known before
  /// the first step; 0 if it depends on the messages.
  virtual std::size_t bytes(replica const&) const { return 0; }

  /// Returns measurements; empty if a single rank exchanges nothing. exchange_text formats the names of
  /// exchange_meter and message_exchange, and prints other names unchanged.
  virtual std::vector<measurement> report() const { return {}; }
  /// Returns the times of the last finished exchange. Called after each step, so it allocates no memory.
  virtual exchange_times last_exchange() const { return {}; }
};

/// Exchanges nothing: for a single rank.
class no_exchange final : public strategy {
 public:
  exchanged what() const override { return exchanged::nothing; }
  std::string describe() const override { return "none"; }
  std::unique_ptr<strategy> on(communicator&) const { return std::make_unique<no_exchange>(); }
};

}  // namespace cohort
