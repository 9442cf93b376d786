// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/optimizer/optimizer.hpp>
#include <cohort/plan/detail/arena_sums.hpp>
#include <cohort/plan/detail/parameter_rules.hpp>
#include <cohort/plan/gradient_parts.hpp>
#include <cohort/plan/parameter_set.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace cohort {

/// One worker's share of an update with the sum of the gradient parts.
///
/// `which`: the parameters to update: all or, if parameter_update::can_update_ranges(), a part of them.
/// `is_finite`: worker 0's check of the gradient of this rank's shard.
struct update_request {
  int worker = 0;
  int workers = 1;
  std::span<std::byte* const> parts{};
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  parameter_range which{};
  bool is_finite = true;
};

/// The elements of the arenas that one of several ranks updates. This rank has the optimizers' state of these
/// elements only.
///
/// Shapes    disjoint ranges of an arena in ascending order. Each range contains a block of norms
///           (arena_sums) completely, or not at all.
using state_shard = std::vector<parameter_set::arena_range>;

/// Exchanges of the ranks among which an update is sharded. One worker of each rank calls them in the same
/// order.
class shard_exchange {
 public:
  virtual ~shard_exchange() = default;
  /// Replaces each number with its maximum over all ranks.
  virtual void find_maxima(std::span<double> numbers) = 0;
  /// Replaces the parameters that other ranks have updated with these ranks' values. `frees`: the update does
  /// not need these values afterwards, so parameters with copies only may be freed.
  virtual void gather(parameter_set& parameters, bool frees) = 0;
  /// Copies a range of a state array, or of the parameters, from all ranks to rank 0, or to all ranks.
  /// `arena`: has this rank's elements of the range; gets the other ranks' elements. Elements outside all
  /// shards are unchanged.
  virtual void collect(parameter_set const& parameters, parameter_set::arena_range const& which,
                       std::byte* arena, bool on_all_ranks) = 0;
};

/// State of the optimizers and their pass over the parameters, sharded over the workers of a rank.
///
/// Shapes    each state array is an arena with the master's size and layouts. With `average_decay`, the last
///           one is the moving average of the trained parameters; for the formula, see training_settings.
///           With a shard, each state array except the average has the elements of the shard's ranges only,
///           without gaps, and the parameters of the ranges are updated only.
/// Order     run performs a whole update. In separate calls, without a shard: for each phase of
///           phases(workers), every worker calls measure, and all wait for each other. Then every worker
///           calls apply. If constrains(workers), all wait again and call constrain with the request.
/// Errors    setting_error if a row of `layers` matches no layer, or freezes a layer that
///           parameter_set::freeze has not frozen; for an optimizer of the program on a device.
/// Exact     bounds of shards are multiples of 16 elements, and each tensor is constrained by one worker, so
///           the result does not depend on the number of workers.
class parameter_update {
  using arena_range = parameter_set::arena_range;

 public:
  parameter_update(parameter_set& parameters, optimizer_settings const& settings, double average_decay = 0,
                   std::optional<state_shard> shard = std::nullopt);

  int state_arrays() const { return static_cast<int>(state_.size()); }
  /// State array k: an arena, or the elements of the shard.
  std::byte* state(int k) const { return state_[static_cast<std::size_t>(k)]; }
  std::span<std::byte* const> states() const { return state_; }
  /// Returns whether this rank updates the ranges of shard() only, and has only their state.
  bool is_sharded() const { return is_sharded_; }
  state_shard const& shard() const { return shard_; }
  /// Returns whether state array k is an arena.
  bool is_whole(int k) const { return !is_sharded_ || (average_decay_ > 0 && k + 1 == state_arrays()); }
  /// Calls use(arena) with an arena that has state array k of parameter p, to read or write it. With a shard,
  /// the arena has this rank's elements and the initial values of the others, and afterwards only this rank's
  /// elements are kept; the call needs memory for one parameter. k = -1: the parameters, to read them.
  template <class Use>
  void access_state(int k, int p, Use use) {
    if (k < 0 ? parameters_.is_whole(p) : is_whole(k)) return use(k < 0 ? parameters_.master() : state(k));
    std::byte* const arena = stage(k, p);
    use(arena);
    unstage(k, p);
  }
  /// Returns whether an update does not need the parameters of other ranks.
  bool frees_parameters() const { return is_sharded_ && !average() && !has_constraints(); }
  /// The moving average of the trained parameters; null without average_decay.
  std::byte* average() const { return average_decay_ > 0 ? state_.back() : nullptr; }
  /// Copies the parameters to the average, after the parameters were loaded.
  void restart_average();
  /// Memory of the state arrays and of the dense buffer for constraints.
  std::size_t bytes() const;
  optimizer_settings const& settings() const { return settings_; }
  detail::parameter_rules const& rules() const { return rules_; }

  /// Sets the factor of all learning rates in later updates (see plateau::factor).
  void scale_rates(double factor) { rate_factor_ = factor; }

  /// Sets every state array, including its padding, to its initial value. Gradients of padding are always
  /// zero.
  void reset();

  /// Performs a worker's share of one update. `wait` is a barrier of all workers. `ranks`: not null only
  /// with a shard; worker 0 calls it. Returns false, without an update, if the gradient of a rank's shard is
  /// not finite; all workers of all ranks return the same value.
  template <class Wait>
  bool run(update_request const& request, Wait wait, shard_exchange* ranks = nullptr) {
    for (int phase = 0; phase < phases(request.workers); ++phase) {
      measure(phase, request);
      wait();
      if (!ranks) continue;
      if (request.worker == 0) merge_sums(phase, request.is_finite, *ranks);
      wait();
      if (!is_finite_) return false;
    }
    apply(request);
    if (ranks) {
      wait();
      if (request.worker == 0) ranks->gather(parameters_, frees_parameters());
      wait();
      if (average()) update_average(request.step, share_of({0, parameters_.arena_elements()}, request));
    }
    if (!constrains(request.workers)) return true;
    wait();
    constrain(request);
    return true;
  }

  /// Returns whether ranges of parameters can be updated at different times: no norm of whole tensors is
  /// needed, and there are no constraints.
  bool can_update_ranges() const { return norm_phases() == 0 && !has_constraints(); }

  /// Number of phases that measure norms of whole tensors before apply: norms of gradients, then of steps. 0
  /// for one worker without a shard, because apply then measures the norms. At least 1 with a shard, because
  /// the ranks exchange in the first phase whether all gradients are finite.
  int phases(int workers) const {
    return is_sharded_ ? std::max(1, norm_phases()) : workers == 1 ? 0 : norm_phases();
  }

  /// Performs a worker's share of a phase.
  void measure(int phase, update_request const& request);

  /// Performs a worker's share of the optimizers' pass.
  void apply(update_request const& request);

  bool has_constraints() const { return !constrained_.empty(); }
  /// Returns whether constrain must be called after apply. False for one worker without a shard, because
  /// apply then calls constrain.
  bool constrains(int workers) const { return (workers > 1 || is_sharded_) && has_constraints(); }

  /// Performs a worker's share of the constraints, and updates the average of the constrained parameters.
  void constrain(update_request const& request);
  /// Performs a worker's share of the constraints after a change that is not an update. The average is
  /// unchanged.
  void constrain(int worker, int workers);
  /// Applies the constraints to dense canonical elements of all parameters, for example a mean that has not
  /// been written to the master yet.
  void constrain(std::byte* dense) const;

 private:
  using scope = gradient_normalisation::scope;

  /// A range of the shard: `n` elements from `offset` in an arena and from `packed` in a state array.
  struct packed_range {
    std::size_t offset, packed, n;
  };
  /// Calls use(shift, begin, n) for the elements [first, last) of a state array: n elements from `begin` of
  /// the state array are those from begin + shift of an arena.
  template <class Use>
  void each_range(std::size_t first, std::size_t last, Use use) const {
    for (packed_range const& part : ranges_) {
      std::size_t const begin = std::max(first, part.packed), end = std::min(last, part.packed + part.n);
      if (begin < end) use(part.offset - part.packed, begin, end - begin);
    }
  }
  /// Calls use(part) for this rank's parts of a range of state array k.
  template <class Use>
  void each_part(int k, arena_range const& which, Use use) const {
    if (is_whole(k)) return use(packed_range{which.offset, which.offset, which.room});
    for (packed_range const& part : ranges_) {
      std::size_t const begin = std::max(which.offset, part.offset),
                        end = std::min(which.offset + which.room, part.offset + part.n);
      if (begin < end) use(packed_range{begin, part.packed + begin - part.offset, end - begin});
    }
  }
  /// Returns an arena with parameter p of state array k: this rank's elements, and initial values of others.
  std::byte* stage(int k, int p);
  /// Copies this rank's elements of parameter p back to state array k, and frees the arena's memory.
  void unstage(int k, int p);
  /// The parts from element `shift` on.
  std::span<std::byte* const> shifted(std::span<std::byte* const> parts, std::size_t shift,
                                      std::span<std::byte*> memory) const;
  /// Calls use(sums) for the sums of a phase.
  template <class Use>
  void each_sum(int phase, Use use) {
    if (phase == 0 && gradient_squares_) use(*gradient_squares_);
    if (phase == 0 && parameter_squares_) use(*parameter_squares_);
    if (phase == 1 && step_squares_) use(*step_squares_);
  }
  /// With a shard: replaces the sums of a phase over this rank's blocks with those over all ranks' blocks,
  /// and finds out whether the gradients are finite on all ranks.
  void merge_sums(int phase, bool is_finite, shard_exchange& ranks);
  /// Part `which` of `all` of a range, in units of 16 elements.
  static arena_range share_of(arena_range const& range, int which, int all);
  static arena_range share_of(arena_range const& range, update_request const& request) {
    return share_of(range, request.worker, request.workers);
  }
  /// Returns whether the update of parameter p also writes its rounded copy. With a shard, the next step
  /// makes the copies, after all ranks' parameters were gathered.
  bool writes_copy(int p) const;
  void apply_range(update_request const& request, double whole, std::size_t shift, std::size_t first,
                   std::size_t last);

  int norm_phases() const { return step_squares_ ? 2 : gradient_squares_ ? 1 : 0; }

  bool needs(detail::norm_of norm) const;

  void require_frozen() const;

  void measure_gradients(update_request const& request);
  void measure_steps(update_request const& request);

  double network_factor() const;
  /// Factor that normalises parameter p's gradient. `whole`: the factor of the whole network.
  double factor(std::size_t p, double whole) const;

  /// Scalars of an update, except the norms that the optimizer may need.
  update_scalars scalars(std::size_t p, double whole, update_request const& request) const;

  /// Updates the average of the parameters without constraints in a range of the arenas after this step.
  void update_average(std::int64_t step, arena_range const& range);
  /// Updates the average of elements [begin, begin + n).
  void update_average_of(std::int64_t step, std::size_t begin, std::size_t n);

  /// Performs a thread's part of a worker's share: part `thread` of `threads`. `whole`: as in factor.
  void apply_rules(update_request const& request, double whole, int thread, int threads);

  /// Tensor with a constraint, and its offset in the dense buffer.
  struct constrained {
    int p;
    std::int64_t first;
  };
  template <class T>
  void constrain_tensor(constrained const& one) {
    T* const w = dense_.template as<T>() + one.first;
    auto* const bytes = reinterpret_cast<std::byte*>(w);
    parameters_.read(one.p, parameters_.master(), bytes);
    clip_tensor<T>(one.p, w);
    parameters_.write(one.p, bytes, parameters_.master());
  }
  template <class T>
  void clip_tensor(int p, T* w) const {
    shape const& dims = parameters_.table()[static_cast<std::size_t>(p)].spec.dims;
    apply_constraint<T>(rules_[static_cast<std::size_t>(p)].constraint,
                        {w, static_cast<std::size_t>(dims.elements())}, static_cast<std::size_t>(dims[0]));
  }

 public:
  /// Maximum number of workers in an update.
  static constexpr std::size_t max_parts = gradient_parts::max_parts;

 private:
  parameter_set& parameters_;
  arena_passes& passes_;
  optimizer_settings settings_;
  detail::parameter_rules rules_;
  bool is_sharded_;
  state_shard shard_;
  std::vector<packed_range> ranges_{};  // of the shard, or one range of all elements
  std::size_t state_elements_ = 0;      // of a state array
  std::vector<double> numbers_{};       // see merge_sums
  bool is_finite_ = true;               // whether the gradients of all ranks' shards are
  double rate_factor_ = 1;
  double average_decay_;
  std::vector<buffer> arrays_;
  std::vector<std::byte*> state_;    // addresses of arrays_
  std::vector<char> is_measured_{};  // a parameter that never changes is not in the norm of the network
  std::optional<detail::arena_sums> gradient_squares_;
  std::optional<detail::arena_sums> step_squares_;
  std::optional<detail::arena_sums> parameter_squares_;
  std::vector<constrained> constrained_;
  buffer dense_;
  buffer staging_{};  // an arena, whose memory is free except during access_state
};

}  // namespace cohort
