// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cohort/error/exceptions.hpp>
#include <cohort/execution/partition.hpp>
#include <cohort/optimizer/constraint.hpp>
#include <cohort/plan/parameter_update.hpp>
#include <utility>

namespace cohort {

parameter_update::parameter_update(parameter_set& parameters, optimizer_settings const& settings,
                                   double average_decay, std::optional<state_shard> shard)
    : parameters_(parameters),
      passes_(parameters.passes()),
      settings_(settings),
      rules_(parameters.table(), settings),
      is_sharded_(shard.has_value()),
      shard_(is_sharded_ ? std::move(*shard) : state_shard{{0, parameters.arena_elements()}}),
      average_decay_(average_decay) {
  settings.check();
  require_frozen();
  rules_.require_formulas(parameters.table(), passes_.space() != nullptr);
  for (parameter_set::arena_range const& part : shard_) {
    ranges_.push_back({part.offset, state_elements_, part.room});
    state_elements_ += part.room;
  }
  std::size_t const width = bytes_of(parameters.type());
  for (int k = 0; k < rules_.state_arrays(); ++k)
    arrays_.emplace_back(state_elements_ * width, passes_.space());
  if (average_decay > 0) arrays_.emplace_back(parameters.arena_bytes(), passes_.space());
  for (buffer const& array : arrays_) state_.push_back(array.data());
  if (settings.normalisation.norm() != scope::nothing || needs(detail::norm_of::gradient))
    gradient_squares_.emplace(parameters, shard_);
  if (needs(detail::norm_of::step)) step_squares_.emplace(parameters, shard_);
  if (needs(detail::norm_of::gradient) || needs(detail::norm_of::step))
    parameter_squares_.emplace(parameters, shard_);
  for (std::size_t p = 0; p < rules_.size(); ++p) {
    optimizer_rule const& rule = rules_[p].rule;
    bool const is_constant = rule.learning_rate().is_fixed() && rule.learning_rate().value(0, 0) == 0;
    is_measured_.push_back(!is_constant || rule.needs_norms()
                           || settings.normalisation.norm() != scope::network);
  }
  std::int64_t elements = 0;
  for (std::size_t p = 0; p < rules_.size(); ++p)
    if (parameter const& one = parameters.table()[p];
        one.trains() && rules_[p].constraint != parameter_constraint()) {
      constrained_.push_back({static_cast<int>(p), elements});
      elements += one.spec.dims.elements();
    }
  dense_ = buffer(static_cast<std::size_t>(elements) * width);
  reset();
}

std::size_t parameter_update::bytes() const {
  std::size_t all = dense_.bytes();
  for (buffer const& array : arrays_) all += array.bytes();
  return all;
}

void parameter_update::reset() {
  for (std::size_t index = 0; index < rules_.size(); ++index) {
    parameter const& p = parameters_.table()[index];
    optimizer_rule const& rule = rules_[index].rule;
    for (int k = 0; is_trained(p.spec.role) && k < rule.state_arrays(); ++k)
      each_part(k, {p.offset, p.room}, [&](packed_range const& part) {
        passes_.fill(state(k), part.packed, part.n, rule.initial_state(k));
      });
  }
  restart_average();
}

std::byte* parameter_update::stage(int k, int p) {
  parameter const& wanted = parameters_.table()[static_cast<std::size_t>(p)];
  optimizer_rule const& rule = rules_[static_cast<std::size_t>(p)].rule;
  std::size_t const width = bytes_of(parameters_.type());
  if (staging_.bytes() == 0) staging_ = buffer::of_small_pages(parameters_.arena_bytes());
  std::byte* const arena = staging_.data();
  bool const is_state = k >= 0;
  passes_.fill(arena, wanted.offset, wanted.room,
               is_state && k < rule.state_arrays() ? rule.initial_state(k) : 0);
  each_part(k, {wanted.offset, wanted.room}, [&](packed_range const& part) {
    std::byte const* const from =
        is_state ? state(k) + part.packed * width : parameters_.master() + part.offset * width;
    passes_.copy(from, arena + part.offset * width, part.n * width);
  });
  return arena;
}

void parameter_update::unstage(int k, int p) {
  parameter const& changed = parameters_.table()[static_cast<std::size_t>(p)];
  std::size_t const width = bytes_of(parameters_.type());
  std::byte* const arena = staging_.data();
  if (k >= 0)
    each_part(k, {changed.offset, changed.room}, [&](packed_range const& part) {
      passes_.copy(arena + part.offset * width, state(k) + part.packed * width, part.n * width);
    });
  detail::free_pages(arena + changed.offset * width, changed.room * width);
}

void parameter_update::restart_average() {
  if (std::byte* const to = average()) passes_.copy(parameters_.master(), to, parameters_.arena_bytes());
}

void parameter_update::update_average(std::int64_t step, arena_range const& range) {
  for (std::size_t index = 0; index < rules_.size(); ++index) {
    parameter const& p = parameters_.table()[index];
    std::size_t const begin = std::max(range.offset, p.offset),
                      end = std::min(range.offset + range.room, p.offset + p.room);
    bool const waits = rules_[index].constraint != parameter_constraint();  // constrain updates the average
    if (begin < end && p.trains() && !waits) update_average_of(step, begin, end - begin);
  }
}

void parameter_update::update_average_of(std::int64_t step, std::size_t begin, std::size_t n) {
  // a −= u with u = (1 − d)·(a − w): a step of sgd with the gradient −(1 − d)·w and the penalty 1 − d.
  static optimizer_rule const rule = sgd{.learning_rate = 1};
  double const t = static_cast<double>(step), share = 1 - std::min(average_decay_, t / (t + 1));
  update_range const range{&rule, {.l2 = share, .gradient_scale = -share}, begin, n};
  std::byte* const master = parameters_.master();
  passes_.update({&range, 1}, average(), {&master, 1}, {});
}

void parameter_update::measure(int phase, update_request const& request) {
  if (phase == 0) measure_gradients(request);
  if (phase == 1) measure_steps(request);
}

void parameter_update::apply(update_request const& request) {
  for (int phase = phases(request.workers); phase < norm_phases(); ++phase) measure(phase, request);
  double const whole = network_factor();
  passes_.in_parallel([&](int thread, int threads) { apply_rules(request, whole, thread, threads); });
  if (request.workers == 1 && !is_sharded_) constrain(request);
}

void parameter_update::constrain(update_request const& request) {
  constrain(request.worker, request.workers);
  for (std::size_t c = static_cast<std::size_t>(request.worker); average() && c < constrained_.size();
       c += static_cast<std::size_t>(request.workers)) {
    parameter const& p = parameters_.table()[static_cast<std::size_t>(constrained_[c].p)];
    update_average_of(request.step, p.offset, p.room);
  }
}

void parameter_update::constrain(int worker, int workers) {
  for (std::size_t c = static_cast<std::size_t>(worker); c < constrained_.size();
       c += static_cast<std::size_t>(workers))
    detail::with_real(parameters_.type(), [&]<class T>(T*) { constrain_tensor<T>(constrained_[c]); });
}

void parameter_update::constrain(std::byte* dense) const {
  detail::with_real(parameters_.type(), [&]<class T>(T*) {
    for (constrained const& one : constrained_)
      clip_tensor<T>(
          one.p, reinterpret_cast<T*>(dense) + parameters_.table()[static_cast<std::size_t>(one.p)].first);
  });
}

bool parameter_update::needs(detail::norm_of norm) const {
  for (std::size_t p = 0; p < rules_.size(); ++p)
    if (parameters_.table()[p].trains() && rules_[p].rule.needed_norm() == norm) return true;
  return false;
}

void parameter_update::require_frozen() const {
  for (std::size_t p = 0; p < rules_.size(); ++p)
    if (parameter const& one = parameters_.table()[p]; rules_[p].frozen && !one.frozen)
      throw setting_error(
          {.what = "the optimizer settings freeze a layer that the parameter set does not freeze",
           .where = one.name,
           .expected = "parameter_set::freeze before the first plan"});
}

void parameter_update::merge_sums(int phase, bool is_finite, shard_exchange& ranks) {
  numbers_.assign(1, is_finite ? 0 : 1);
  each_sum(phase, [&](detail::arena_sums& sums) {
    sums.clear_others();
    numbers_.insert(numbers_.end(), sums.blocks().begin(), sums.blocks().end());
  });
  ranks.find_maxima(numbers_);
  is_finite_ = numbers_.front() == 0;
  auto from = numbers_.begin() + 1;
  each_sum(phase, [&](detail::arena_sums& sums) {
    auto const end = from + std::ssize(sums.blocks());
    std::copy(from, end, sums.blocks().begin());
    from = end;
  });
}

parameter_set::arena_range parameter_update::share_of(arena_range const& range, int which, int all) {
  constexpr std::size_t unit = 16;
  index_slice const units = part_of({0, static_cast<std::int64_t>(range.room / unit)}, which, all);
  return {range.offset + static_cast<std::size_t>(units.first) * unit,
          static_cast<std::size_t>(units.count) * unit};
}

void parameter_update::measure_gradients(update_request const& request) {
  if (gradient_squares_)
    gradient_squares_->measure(request.worker, request.workers,
                               [&](std::size_t p, std::size_t begin, std::size_t n, double* sums) {
                                 if (is_measured_[p]) passes_.square_sums(request.parts, begin, n, sums);
                               });
  if (parameter_squares_)
    parameter_squares_->measure(request.worker, request.workers,
                                [&](std::size_t, std::size_t begin, std::size_t n, double* sums) {
                                  std::byte* const master = parameters_.master();
                                  passes_.square_sums({&master, 1}, begin, n, sums);
                                });
}

std::span<std::byte* const> parameter_update::shifted(std::span<std::byte* const> parts, std::size_t shift,
                                                      std::span<std::byte*> memory) const {
  for (std::size_t k = 0; k < parts.size(); ++k) memory[k] = parts[k] + shift * bytes_of(parameters_.type());
  return memory.first(parts.size());
}

void parameter_update::measure_steps(update_request const& request) {
  double const whole = network_factor();
  std::array<std::byte*, max_parts> memory;
  auto const squares = [&](std::size_t p, std::size_t begin, std::size_t n, double* sums) {
    optimizer_rule const& rule = rules_[p].rule;
    if (rule.needed_norm() != detail::norm_of::step) return;
    auto const here = std::ranges::find_if(ranges_, [&](packed_range const& part) {
      return begin >= part.offset && begin < part.offset + part.n;
    });
    std::size_t const shift = here->offset - here->packed;
    std::array<std::byte*, 1> const master{parameters_.master() + shift * bytes_of(parameters_.type())};
    passes_.step_square_sums(rule, scalars(p, whole, request), master[0],
                             shifted(request.parts, shift, memory), state_, begin - shift, n, sums);
  };
  step_squares_->measure(request.worker, request.workers, squares);
}

double parameter_update::network_factor() const {
  gradient_normalisation const& how = settings_.normalisation;
  return how.norm() == scope::network ? how.factor(std::sqrt(gradient_squares_->of_all())) : 1;
}

double parameter_update::factor(std::size_t p, double whole) const {
  gradient_normalisation const& how = settings_.normalisation;
  if (how.norm() == scope::parameter) return how.factor(std::sqrt(gradient_squares_->of_parameter(p)));
  if (how.norm() == scope::layer) return how.factor(std::sqrt(gradient_squares_->of_layer(p)));
  return whole;
}

update_scalars parameter_update::scalars(std::size_t p, double whole, update_request const& request) const {
  penalties const& penalty = rules_[p].penalty;
  return {.step = request.step,
          .epoch = request.epoch,
          .rate_factor = rate_factor_,
          .l1 = penalty.l1,
          .l2 = penalty.l2,
          .gradient_scale = factor(p, whole),
          .clip = settings_.normalisation.element_bound()};
}

void parameter_update::apply_rules(update_request const& request, double whole, int thread, int threads) {
  std::size_t const front = is_sharded_ ? 0 : parameters_.offset_of(request.which.first),
                    back = is_sharded_ ? state_elements_ : parameters_.offset_of(request.which.last);
  arena_range const share = share_of(share_of({front, back - front}, request), thread, threads);
  each_range(share.offset, share.offset + share.room,
             [&](std::size_t shift, std::size_t begin, std::size_t n) {
               apply_range(request, whole, shift, begin, begin + n);
             });
  if (average() && !is_sharded_) update_average(request.step, share);
}

bool parameter_update::writes_copy(int p) const {
  auto const index = static_cast<std::size_t>(p);
  return parameters_.table()[index].trains() && parameters_.has_update_copy(p)
         && rules_[index].constraint == parameter_constraint();
}

void parameter_update::apply_range(update_request const& request, double whole, std::size_t shift,
                                   std::size_t first, std::size_t last) {
  constexpr std::size_t in_cache = 16384;
  std::array<std::byte*, max_parts> memory;
  std::byte* const master = parameters_.master() + shift * bytes_of(parameters_.type());
  std::span<std::byte* const> const parts = shifted(request.parts, shift, memory);
  auto const update_ranges = [&](std::span<update_range const> ranges) {
    passes_.update(ranges, master, parts, state_);
  };
  std::array<update_range, 32> pending;  // a device updates them in one kernel
  std::size_t count = 0;
  for (std::size_t index = 0; index < parameters_.table().size(); ++index) {
    parameter const& p = parameters_.table()[index];
    if (p.offset + p.room <= first + shift || p.offset >= last + shift || !p.trains()) continue;
    std::size_t const begin = std::max(first + shift, p.offset) - shift,
                      end = std::min(last + shift, p.offset + p.room) - shift;
    optimizer_rule const& rule = rules_[index].rule;
    update_scalars now = scalars(index, whole, request);
    if (rule.needs_norms()) {
      bool const of_step = rule.needed_norm() == detail::norm_of::step;
      double const square =
          of_step ? step_squares_->of_parameter(index)
                  : gradient_squares_->of_parameter(index) * now.gradient_scale * now.gradient_scale;
      now.needed_norm = std::sqrt(square);
      now.parameter_norm = std::sqrt(parameter_squares_->of_parameter(index));
    }
    if (is_sharded_ || !writes_copy(static_cast<int>(index))) {
      pending[count++] = {&rule, now, begin, end - begin};
      if (count == pending.size()) update_ranges(std::span(pending).first(std::exchange(count, 0)));
      continue;
    }
    if (begin == p.offset) parameters_.mark_update_copy(static_cast<int>(index));
    for (std::size_t at = begin; at < end; at += in_cache) {
      update_range const piece{&rule, now, at, std::min(in_cache, end - at)};
      update_ranges({&piece, 1});
      parameters_.write_update_copy(static_cast<int>(index), at, piece.n);
    }
  }
  update_ranges(std::span(pending).first(count));
}

}  // namespace cohort
