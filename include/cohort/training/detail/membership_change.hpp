// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/elastic_communicator.hpp>
#include <cohort/strategy/strategy.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cohort/training/detail/training_state.hpp>
#include <cohort/training/listener.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace cohort::detail {

/// The last step or meeting that a rank has completed with the others.
///
/// `membership`    the membership in which it was completed; 0: before the first change of the ranks
/// `count`         number of steps, or of meetings if the ranks do not meet in every step
/// `synchronised`  1 after the ranks have averaged what they update separately in steps with a meeting
///                 (strategy::diverged)
struct last_agreement {
  std::int64_t membership = 0, count = 0, epoch = 0, synchronised = 0;

  auto order() const { return std::tuple(membership, count, epoch, synchronised); }
};

/// Position of a fit, which a process that joins gets from another rank.
///
/// `transferred`  the last agreement when the membership began
/// `is_stopping`  the ranks have agreed to stop, and have not ended the epoch yet
/// `ended`     results of an epoch whose validation and listeners are pending; `validation` is empty
/// `agreed`    votes at the end of this epoch
/// `last_met`  position within the epoch at the last meeting of ranks that do not meet in every step
struct fit_position {
  std::int64_t epochs = 0;  ///< number of epochs that are not finished
  std::int64_t last_met = 0;
  std::optional<epoch_report> ended{};
  votes agreed{};
  last_agreement transferred{};
  bool is_stopping = false;
  bool stopped = false;  ///< the ranks have agreed to end the fit
};

/// Continues a run with the next membership of an elastic job.
///
/// Exact     the ranks continue after the last agreement (step or meeting) that any of them has completed in
///           the former membership. Ranks that have not completed it, and processes that join, get the state
///           from a rank that has. If the ranks meet in every step, the parameters of all ranks are then
///           equal bit for bit; otherwise each rank keeps its steps since the last meeting. A rank keeps its
///           part of the strategy's state, for example rounding errors that it has not sent, and its state
///           of the optimizers if this state is local, unless it loads the state or joins. A process that
///           joins gets the mean of the local states.
class membership_change {
 public:
  /// Errors    setting_error if the ranks of this run cannot change.
  static void check(training_state& run, dataset const& data, fit_settings const& settings);

  membership_change(training_state& run, elastic_communicator& world) : run_(run), world_(world) {}

  /// Leaves the membership and connects the next one. Until `transfer` the run exchanges
  /// nothing.
  void begin(fit_position const& position);
  /// Makes the states of all ranks equal, and makes the strategy. Then call elastic_communicator::confirm.
  /// `facts`: hash of what all ranks must have in common. Returns whether this rank has got its state, with
  /// its listeners' states (training_state::saved_listeners), from another rank.
  ///
  /// Order     collective.
  /// Errors    communicator_error if a rank is lost, with the state unchanged: call begin and transfer again.
  ///           setting_error on a rank whose facts differ from those of the others.
  bool transfer(fit_position& position, std::uint64_t facts);
  /// The largest number of steps of a rank. A rank with fewer steps makes the others before the ranks meet.
  std::int64_t last_step() const { return last_step_; }

 private:
  struct header;
  struct received_state;

  last_agreement last_agreement_of(strategy const& former, last_agreement const& before) const;
  header own_header(fit_position const& position, std::uint64_t facts) const;
  received_state exchange_states(std::vector<header> const& all, header const& from);
  std::vector<buffer> mean_of_local_states(std::vector<header> const& all, header const& from);
  void load(header const& own, header const& from, received_state const& received);
  void make_strategy(std::shared_ptr<strategy> next, header const& own, header const& from,
                     received_state const& received);

  training_state& run_;
  elastic_communicator& world_;
  std::function<std::unique_ptr<strategy>(communicator&)> renewal_{};
  std::string strategy_state_{};  // of the former membership
  bool has_new_state_ = false;    // from another rank
  bool has_local_optimizer_state_ = false;
  last_agreement last_{};
  std::int64_t former_membership_ = 0;  // 0: this process joins
  std::int64_t last_step_ = 0;
};

}  // namespace cohort::detail
