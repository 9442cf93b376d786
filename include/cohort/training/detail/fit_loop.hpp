// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/batch_view.hpp>
#include <cohort/data/dataset.hpp>
#include <cohort/data/loader.hpp>
#include <cohort/detail/chrono.hpp>
#include <cohort/strategy/strategy.hpp>
#include <cohort/training/detail/membership_change.hpp>
#include <cohort/training/detail/step_runner.hpp>
#include <cohort/training/detail/training_state.hpp>
#include <cohort/training/detail/validation.hpp>
#include <cohort/training/listener.hpp>
#include <cohort/training/settings.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace cohort::detail {

/// One call of training::fit: the loop over epochs and steps, and the data that is needed only during the
/// call.
///
/// Order     collective.
class fit_loop final : public running_fit {
 public:
  /// Checks the call, prepares plan and loader, restores the listeners' saved states and registers itself as
  /// the active fit of `state`.
  ///
  /// Errors    those of training::fit before the first step.
  fit_loop(training& run, training_state& state, dataset const& data, fit_settings const& how);
  fit_loop(fit_loop const&) = delete;
  fit_loop& operator=(fit_loop const&) = delete;
  ~fit_loop();

  fit_report run();

  bool has_common_steps() const override { return has_common_steps_; }
  std::span<listener* const> listeners() const override { return how_.listeners; }
  int batch_size() const override { return how_.batch; }
  epoch_data data_of_epoch() const override;

 private:
  using clock = std::chrono::steady_clock;
  enum class after_step { next_step, next_epoch, stop };
  /// Data of the steps. Workers that missed a deadline may still read this data; see
  /// training_state::run_workers.
  struct step_data {
    step_data(dataset data, loader_settings settings) : batches(std::move(data), std::move(settings)) {}

    loader batches;
    batch const none{};  // batch of a rank whose part of a stream has ended
    batch_view now;      // batch of the current step
  };

  static double seconds_since(clock::time_point start);

  /// Compares the data set with that of the interrupted epoch that a checkpoint contains.
  ///
  /// Order     collective.
  /// Errors    setting_error if they differ.
  void check_data_of_epoch() const;
  std::optional<std::uint64_t> fingerprint() const;
  std::string describe_order() const;
  void run_epochs();
  void run_remaining_epochs();
  /// The same for ranks that may change.
  void run_elastically();
  /// Makes the steps of an epoch from the current position on. Returns whether the epoch has ended.
  bool run_steps();
  /// Validation and listeners after the last step of an epoch.
  void finish_epoch();
  /// Makes one step, if any rank has examples left in this epoch.
  after_step run_step(epoch_report& epoch, bool calls_listeners = true);
  /// Continues with the next membership of the ranks.
  void regroup();
  /// Divides the examples among the ranks of the current membership.
  void divide_again();

  /// Whether the ranks may change and do not meet in every step. Then the loop makes the meetings. A rank
  /// begins the next step when it knows that all ranks have met, so after an error the ranks differ at most
  /// by steps since the last meeting. In the next membership, each rank makes the steps that it lacks of its
  /// former part of the examples, and the ranks meet. The steps of a lost rank since its last meeting are
  /// lost.
  bool meets_at_intervals() const { return elastic_ && !state_.exchange_strategy->meets_each_step(); }
  /// After a step: leaves, or meets the other ranks.
  after_step change_ranks();
  bool can_leave() const;
  bool leave();
  after_step meet_at_interval();
  /// Makes the steps before step `last` with this rank's former part of the examples, and meets.
  after_step make_missing_steps(std::int64_t last);
  [[noreturn]] static void end_membership();
  /// Calls the strategy's end_of_epoch, and counts the lost examples.
  votes meet();
  void count_lost_examples();

  std::shared_ptr<step_data> make_data() const;
  void restore_listeners();
  /// Hash of what a process that joins must have in common with the ranks.
  std::uint64_t hash_of_facts() const;
  step_info info_of(batch const& data) const;
  /// Calls the listeners' on_vote. Returns whether the ranks have agreed to stop.
  bool notify_of_votes(votes const& all);
  /// Sets the step count of all ranks to the same value: the largest count that a rank had after its last
  /// step with examples. A rank whose part of a stream has ended also counts steps without examples, so that
  /// rank's count may be too large.
  ///
  /// Order     collective unless has_common_steps(). If has_common_steps(), the call does nothing.
  void align_step_counts();
  void finish_late_without_throwing();
  void log_schedules() const;
  std::int64_t examples_per_step() const;
  /// Number of steps in an epoch before `position`, of an indexed data set.
  std::int64_t steps_at(std::int64_t position) const;

  training& run_;
  training_state& state_;
  dataset const examples_;
  fit_settings const& how_;
  step_runner runner_;
  std::optional<validation> validation_;
  running_fit* const enclosing_;
  bool const enclosing_is_in_uncommon_step_;
  std::vector<std::int64_t> local_sizes_{};  // with sharding::local
  std::shared_ptr<step_data> data_;
  bool has_common_steps_ = true;
  std::int64_t last_step_ = 0;  // step count after this rank's last step with examples
  /// The epoch whose steps run.
  struct running_epoch {
    epoch_report report{};
    clock::time_point start = clock::now();
    std::int64_t first_step = 0, ignored_before = 0;
    bool is_whole = false;
  };
  std::optional<running_epoch> epoch_{};
  fit_position target_{};
  std::optional<std::int64_t> last_step_of_ranks_{};  // in a new membership: make_missing_steps
  bool divides_again_ = false;                        // data_ belongs to a former membership
  std::uint64_t facts_ = 0;                           // hash_of_facts() before the first step
  elastic_communicator* const elastic_ = nullptr;     // null: the ranks do not change
  fit_report report_{};
};

}  // namespace cohort::detail
