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
    for (packed_range const& part : ranges_) {
      std::size_t const begin = std::max(p.offset, part.offset),
                        end = std::min(p.offset + p.room, part.offset + part.n);
      for (int k = 0; begin < end && is_trained(p.spec.role) && k < rule.state_arrays(); ++k)
        passes_.fill(state(k), begin - part.offset + part.packed, end - begin, rule.initial_state(k));
    }
  }
  restart_average();
}

void parameter_update::fill_initial(int k, std::byte* arena) const {
  for (std::size_t index = 0; index < rules_.size(); ++index) {
    parameter const& p = parameters_.table()[index];
    optimizer_rule const& rule = rules_[index].rule;
    if (is_trained(p.spec.role) && k < rule.state_arrays())
      passes_.fill(arena, p.offset, p.room, rule.initial_state(k));
  }
}

void parameter_update::set_state(int k, std::byte const* arena) {
  std::size_t const width = bytes_of(parameters_.type());
  if (is_whole(k)) return passes_.copy(arena, state(k), parameters_.arena_bytes());
  for (packed_range const& part : ranges_)
    passes_.copy(arena + part.offset * width, state(k) + part.packed * width, part.n * width);
}

void parameter_update::restart_average() {
  if (std::byte* const to = average()) passes_.copy(parameters_.master(), to, parameters_.arena_bytes());
}

void parameter_update::update_average(std::int64_t step, std::size_t first, std::size_t last) {
  for (std::size_t index = 0; index < rules_.size(); ++index) {
    parameter const& p = parameters_.table()[index];
    std::size_t const begin = std::max(first, p.offset), end = std::min(last, p.offset + p.room);
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

std::span<double> parameter_update::sums_of(int phase) {
  numbers_.clear();
  each_sum(phase, [&](detail::arena_sums& sums) {
    sums.clear_others();
    numbers_.insert(numbers_.end(), sums.blocks().begin(), sums.blocks().end());
  });
  numbers_.push_back(0);
  return numbers_;
}

void parameter_update::set_sums(int phase) {
  auto from = numbers_.begin();
  each_sum(phase, [&](detail::arena_sums& sums) {
    auto const end = from + static_cast<std::ptrdiff_t>(sums.blocks().size());
    std::copy(from, end, sums.blocks().begin());
    from = end;
  });
}

void parameter_update::measure_gradients(update_request const& request) {
  // A parameter that never changes does not count in the norm of the network. Its sums stay 0.
  auto const counts = [&](optimizer_rule const& rule) {
    bool const is_constant = rule.learning_rate().is_fixed() && rule.learning_rate().value(0, 0) == 0;
    return !is_constant || rule.needs_norms() || settings_.normalisation.norm() != scope::network;
  };
  if (gradient_squares_)
    gradient_squares_->measure(request.worker, request.workers,
                               [&](std::size_t p, std::size_t begin, std::size_t n, double* sums) {
                                 if (counts(rules_[p].rule))
                                   passes_.square_sums(request.parts, begin, n, sums);
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
  constexpr std::size_t unit = 16;
  auto const bound = [](std::size_t begin, std::size_t end, int which_part, int all) {
    std::size_t const units = (end - begin) / unit;
    return begin + units * static_cast<std::size_t>(which_part) / static_cast<std::size_t>(all) * unit;
  };
  std::size_t const front = is_sharded_ ? 0 : parameters_.offset_of(request.which.first),
                    back = is_sharded_ ? state_elements_ : parameters_.offset_of(request.which.last);
  std::size_t const of_worker = bound(front, back, request.worker, request.workers),
                    to_worker = bound(front, back, request.worker + 1, request.workers);
  std::size_t const first = bound(of_worker, to_worker, thread, threads),
                    last = bound(of_worker, to_worker, thread + 1, threads);
  for (std::size_t index = 0; !is_sharded_ && request.worker == 0 && thread == 0 && index < rules_.size();
       ++index)
    if (int const p = static_cast<int>(index); request.which.has(p) && writes_copy(p))
      parameters_.mark_update_copy(p);
  each_range(first, last, [&](std::size_t shift, std::size_t begin, std::size_t n) {
    apply_range(request, whole, shift, begin, begin + n);
  });
  if (average() && !is_sharded_) update_average(request.step, first, last);
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
    for (std::size_t at = begin; at < end; at += in_cache) {
      update_range const piece{&rule, now, at, std::min(in_cache, end - at)};
      update_ranges({&piece, 1});
      parameters_.write_update_copy(static_cast<int>(index), at, piece.n);
    }
  }
  update_ranges(std::span(pending).first(count));
}

/// Updates a worker's share of the average after the parameters of all ranks were gathered.
void parameter_update::update_whole_average(update_request const& request) {
  if (!average()) return;
  constexpr std::size_t unit = 16;
  index_slice const units{0, static_cast<std::int64_t>(parameters_.arena_elements() / unit)};
  index_slice const share = part_of(units, request.worker, request.workers);
  auto const first = static_cast<std::size_t>(share.first) * unit;
  update_average(request.step, first, first + static_cast<std::size_t>(share.count) * unit);
}

}  // namespace cohort
