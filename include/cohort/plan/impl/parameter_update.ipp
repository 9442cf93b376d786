// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cohort/error/exceptions.hpp>
#include <cohort/optimizer/constraint.hpp>
#include <cohort/plan/parameter_update.hpp>
#include <utility>

namespace cohort {

parameter_update::parameter_update(parameter_set& parameters, optimizer_settings const& settings,
                                   double average_decay)
    : parameters_(parameters),
      passes_(parameters.passes()),
      settings_(settings),
      rules_(parameters.table(), settings),
      average_decay_(average_decay) {
  settings.check();
  require_frozen();
  rules_.require_formulas(parameters.table(), passes_.space() != nullptr);
  for (int k = 0; k < rules_.state_arrays() + (average_decay > 0 ? 1 : 0); ++k) {
    arrays_.emplace_back(parameters.arena_bytes(), passes_.space());
    state_.push_back(arrays_.back().data());
  }
  if (settings.normalisation.norm() != scope::nothing || needs(detail::norm_of::gradient))
    gradient_squares_.emplace(parameters);
  if (needs(detail::norm_of::step)) step_squares_.emplace(parameters);
  if (needs(detail::norm_of::gradient) || needs(detail::norm_of::step))
    parameter_squares_.emplace(parameters);
  std::int64_t elements = 0;
  for (std::size_t p = 0; p < rules_.size(); ++p)
    if (parameter const& one = parameters.table()[p];
        one.trains() && rules_[p].constraint != parameter_constraint()) {
      constrained_.push_back({static_cast<int>(p), elements});
      elements += one.spec.dims.elements();
    }
  dense_ = buffer(static_cast<std::size_t>(elements) * bytes_of(parameters.type()));
  reset();
}

std::size_t parameter_update::bytes() const {
  return arrays_.size() * parameters_.arena_bytes() + dense_.bytes();
}

void parameter_update::reset() {
  for (std::size_t index = 0; index < rules_.size(); ++index) {
    parameter const& p = parameters_.table()[index];
    optimizer_rule const& rule = rules_[index].rule;
    for (int k = 0; is_trained(p.spec.role) && k < rule.state_arrays(); ++k)
      passes_.fill(state(k), p.offset, p.room, rule.initial_state(k));
  }
  restart_average();
}

void parameter_update::restart_average() {
  if (std::byte* const to = average()) passes_.copy(parameters_.master(), to, parameters_.arena_bytes());
}

void parameter_update::update_average(std::int64_t step, std::size_t begin, std::size_t n) {
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
  for (int phase = 0; request.workers == 1 && phase < norm_phases(); ++phase) measure(phase, request);
  double const whole = network_factor();
  passes_.in_parallel([&](int thread, int threads) { apply_rules(request, whole, thread, threads); });
  if (request.workers == 1) constrain(request);
}

void parameter_update::constrain(update_request const& request) {
  constrain(request.worker, request.workers);
  for (std::size_t c = static_cast<std::size_t>(request.worker); average() && c < constrained_.size();
       c += static_cast<std::size_t>(request.workers)) {
    parameter const& p = parameters_.table()[static_cast<std::size_t>(constrained_[c].p)];
    update_average(request.step, p.offset, p.room);
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

void parameter_update::measure_steps(update_request const& request) {
  double const whole = network_factor();
  auto const squares = [&](std::size_t p, std::size_t begin, std::size_t n, double* sums) {
    optimizer_rule const& rule = rules_[p].rule;
    if (rule.needed_norm() == detail::norm_of::step)
      passes_.step_square_sums(rule, scalars(p, whole, request), parameters_.master(), request.parts, state_,
                               begin, n, sums);
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
  constexpr std::size_t unit = 16, in_cache = 16384;
  auto const bound = [](std::size_t begin, std::size_t end, int which_part, int all) {
    std::size_t const units = (end - begin) / unit;
    return begin + units * static_cast<std::size_t>(which_part) / static_cast<std::size_t>(all) * unit;
  };
  std::size_t const front = parameters_.offset_of(request.which.first),
                    back = parameters_.offset_of(request.which.last);
  std::size_t const of_worker = bound(front, back, request.worker, request.workers),
                    to_worker = bound(front, back, request.worker + 1, request.workers);
  std::size_t const first = bound(of_worker, to_worker, thread, threads),
                    last = bound(of_worker, to_worker, thread + 1, threads);
  auto const update_ranges = [&](std::span<update_range const> ranges) {
    passes_.update(ranges, parameters_.master(), request.parts, state_);
  };
  std::array<update_range, 32> pending;  // a device updates them in one kernel
  std::size_t count = 0;
  for (std::size_t index = 0; index < parameters_.table().size(); ++index) {
    parameter const& p = parameters_.table()[index];
    std::size_t const begin = std::max(first, p.offset), end = std::min(last, p.offset + p.room);
    int const number = static_cast<int>(index);
    bool const has_update_copy = p.trains() && parameters_.has_update_copy(number)
                                 && rules_[index].constraint == parameter_constraint();
    if (has_update_copy && request.worker == 0 && thread == 0 && request.which.has(number))
      parameters_.mark_update_copy(number);
    if (begin >= end || !p.trains()) continue;
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
    if (!has_update_copy) {
      pending[count++] = {&rule, now, begin, end - begin};
      if (count == pending.size()) update_ranges(std::span(pending).first(std::exchange(count, 0)));
    }
    for (std::size_t at = begin; has_update_copy && at < end; at += in_cache) {
      update_range const piece{&rule, now, at, std::min(in_cache, end - at)};
      update_ranges({&piece, 1});
      parameters_.write_update_copy(number, at, piece.n);
    }
  }
  update_ranges(std::span(pending).first(count));
  for (std::size_t index = 0; average() && index < parameters_.table().size(); ++index) {
    parameter const& p = parameters_.table()[index];
    std::size_t const begin = std::max(first, p.offset), end = std::min(last, p.offset + p.room);
    bool const waits = rules_[index].constraint != parameter_constraint();  // constrain updates the average
    if (begin < end && p.trains() && !waits) update_average(request.step, begin, end - begin);
  }
}

}  // namespace cohort
