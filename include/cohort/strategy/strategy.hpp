// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cohort/communicator/communicator.hpp>
#include <cohort/plan/gradient_parts.hpp>
#include <cohort/plan/replica.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort {

/// What one rank tells the others beside numbers; a vote of any rank is a vote of all.
struct votes {
  bool stop = false;        ///< end the run
  bool save = false;        ///< write a checkpoint
  bool not_finite = false;  ///< a loss or gradient of mine is not finite

  constexpr bool operator==(votes const&) const = default;
  constexpr votes& operator|=(votes const& other) {
    stop |= other.stop;
    save |= other.save;
    not_finite |= other.not_finite;
    return *this;
  }
};

/// What all ranks know alike after they have met.
///
/// Units     `meetings` counts; `examples` are those of all ranks since they met before: 0 when nobody has any left. `weight`
///           is Σ of their weights, their number where they have none. `skipped_steps`: steps between this one and the meeting
///           that this rank left out, because its data had ended (step_info::data_ended).
struct agreement {
  std::int64_t meetings = 0;
  std::int64_t examples = 0;
  double weight = 0;
  votes all{};
  std::int64_t skipped_steps = 0;
};

/// Where a run stands when a hook is called.
///
/// Units     `step` counts updates from 0; `examples` those of this rank in this step; `expected` those of all ranks, exact
///           but where a stream ends; `weight` is Σ of the weights of this rank's, their number where they have none.
///           `late` counts the buckets, from the first one on, whose sums may be there later than before_update returns.
///           `data_ended`: this rank's part of a stream has ended, other ranks may have examples left. A strategy whose ranks
///           do not meet in every step may skip to the next meeting.
struct step_info {
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  int examples = 0;
  double weight = 0;
  std::int64_t expected = 0;
  votes mine{};
  int late = 0;
  bool data_ended = false;
};

/// What a strategy remembers of this rank between two steps, for a checkpoint.
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

/// A number that a strategy has measured of its rank, for reports: a sum since the beginning, or what it is now.
struct measurement {
  std::string_view name;
  double value = 0;
  bool is_sum = false;
};

/// When the parts of an exchange took place on this rank, for a timeline. Of what a strategy does not know both ends are the same.
struct exchange_times {
  struct span {
    std::chrono::steady_clock::time_point begin{}, end{};
  };
  span encode{};    ///< the rank writes its message
  span transfer{};  ///< under way; the rank may do other things meanwhile
  span apply{};     ///< what has arrived is taken
};

/// What goes from rank to rank. With `gradient` buckets are announced; with `parameters` and `nothing` the updater sums the
/// workers' gradients itself.
enum class exchanged { nothing, gradient, parameters };

/// Who agrees with whom and when: the hooks that a training loop calls, in this order in each step.
///
/// begin          the parameters may still change: apply what arrived, wait for stragglers
/// ready          with `gradient` only: a bucket's gradient is complete on all workers of this rank, while backward still runs
///                below it; `gradients.pack` gives the rank's sum. One bucket after another, in the same order on every
///                rank, on the thread of the worker that was last. A rank without examples announces zeros. Until
///                before_update returns (take_left, if it is left), or abandon, the bucket's elements of the first part may be under way: nobody else
///                touches them, and they stay where they are
/// before_update  with `gradient` only: every bucket was announced; what was exchanged is put back by
///                `gradients.unpack`. Returns whether the step is taken: the same on every rank
/// take_left      puts back the sums of the buckets that before_update has left under way (`left`, as many on every rank, at most
///                step_info::late). Until then their layers have not taken the step, and nobody reads or writes their parameters or
///                gradients: neither this step's after_update nor the next one's begin may. Called once: while the next step's
///                forward runs below them, or before merged, state, bytes and end_of_epoch
/// after_update   the parameters have taken the step, or (`updated` false) have not: it had no examples, or a loss or
///                gradient was not finite
/// end_of_epoch   no step is running; nothing may be outstanding afterwards. Also where a vote ends the run within an epoch,
///                after what listeners save then
/// merged         what evaluation and checkpoints show where ranks differ: fills the dense canonical arrays of a replica
///                (replica.read) with what all would agree on now, and leaves the run as it was
///
/// Order     every hook is called in the same steps on every rank, and may communicate; one thread at a time.
/// Before    gradients are those of the mean loss over this rank's examples: Σ weight·loss / Σ weight.
/// Errors    what a hook throws ends the run on this rank; after those of a step `abandon` is called with its words, for other
///           ranks to hear; then nothing under way is left to memory that ends.
class strategy {
 public:
  virtual ~strategy() = default;
  virtual exchanged what() const { return exchanged::gradient; }
  /// Name and settings: ranks whose texts differ refuse to train together.
  virtual std::string describe() const { return "a strategy of one's own"; }

  /// Before the other hooks: this rank trains by so many workers. They rest while hooks run, but for `ready`.
  virtual void set_workers(int) {}
  virtual void begin(step_info const&, replica const&) {}
  virtual void ready(step_info const&, bucket const&, gradient_parts&) {}
  virtual bool before_update(step_info const&, gradient_parts&) { return true; }
  virtual int pending_buckets() const { return 0; }
  virtual void finish_pending(gradient_parts&) {}
  virtual void after_update(step_info const&, replica const&, bool /*updated*/) {}
  virtual void end_of_epoch(step_info const&, replica const&) {}
  /// Whether ranks differ now; the same answer on every rank. False: merged is not called.
  virtual bool diverged() const { return false; }
  virtual void consensus(replica const&, std::span<std::byte* const> /*dense arrays*/) {}

  virtual void abandon(std::string_view /*why*/) noexcept {}
  /// Returns whether ranks meet in every step and agree on that very step. If not, a rank learns late that no rank had
  /// examples left, so ranks that share a stream do not call listeners in the same steps (training::has_common_steps).
  virtual bool meets_each_step() const { return what() == exchanged::gradient; }
  /// The last meeting; null: this strategy holds none, which several ranks refuse: they could not end together.
  virtual agreement const* agreed() const { return nullptr; }

  /// After restore with what state gave, in a replica restored likewise, a run goes on as if it had not stopped.
  virtual strategy_state state() const { return {}; }
  virtual void restore(strategy_state const&) {}
  /// Instead of restore, where a run goes on with another number of ranks, from what merged gave: what each of `ranks` had that
  /// was, one after another, on every rank alike.
  virtual void restore_from_ranks(strategy_state const&, int /*former rank*/, int /*ranks*/) {}

  /// Memory that it will hold for a replica, known before the first step; 0 where it depends on what is sent.
  virtual std::size_t bytes(replica const&) const { return 0; }

  /// What it has measured; empty where one rank exchanges nothing. exchange_text knows the names of exchange_meter and
  /// message_exchange, and says others as they are.
  virtual std::vector<measurement> report() const { return {}; }
  /// Of the exchange that has ended last. Asked after each step: no memory is allocated.
  virtual exchange_times last_exchange() const { return {}; }
};

/// Nobody to agree with: for one rank.
class no_exchange final : public strategy {
 public:
  exchanged what() const override { return exchanged::nothing; }
  std::string describe() const override { return "none"; }
  std::unique_ptr<strategy> on(communicator&) const { return std::make_unique<no_exchange>(); }
};

}  // namespace cohort
