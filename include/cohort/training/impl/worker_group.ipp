// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/plan/make_plan.hpp>
#include <cohort/tensor/finite.hpp>
#include <cohort/training/detail/notify_on_failure.hpp>
#include <cohort/training/detail/worker_group.hpp>
#include <utility>

namespace cohort::detail {

worker_group::worker_group(backend_handle backend, training_settings const& settings,
                           std::chrono::milliseconds exchange)
    : backend_(std::move(backend)),
      settings_(settings),
      former_threads_(static_cast<std::size_t>(settings.workers)),
      team_(settings.workers,
            {.deadline = settings.deadline + exchange,
             .enter =
                 [this](int w) {
                   former_threads_[static_cast<std::size_t>(w)] = backend_.threads(settings_.threads);
                 },
             .leave = [this](int w) { backend_.threads(former_threads_[static_cast<std::size_t>(w)]); }}),
      contexts_(backend_, team_, settings.max_bytes),
      worker_states_(static_cast<std::size_t>(settings.workers)),
      arrived_(backend_.parameters->buckets().size()) {}

int worker_group::micro_batch_size(int batch, int micro_batches) const {
  return static_cast<int>(part_of({0, part_of({0, batch}, 0, size()).count}, 0, micro_batches).count);
}

void worker_group::synchronise(plan_sums const& sizes, std::unique_ptr<communicator> world) {
  sums_.emplace(team_, sizes, std::move(world));
}

void worker_group::carry_states(std::vector<layer_states::layer> layers, int rows) {
  if (states_ && states_->rows() == rows) return;
  states_ = std::make_unique<layer_states>(std::move(layers), rows, bytes_of(backend_.parameters->type()));
}

gradient_parts& worker_group::gradients() {
  if (!gradients_) {
    std::vector<std::byte*> parts;
    for (int w = 0; w < size(); ++w) {
      arenas_.emplace_back(backend_.parameters->arena_bytes(), passes().space());
      parts.push_back(arenas_.back().data());
    }
    gradients_.emplace(*backend_.parameters, std::move(parts));
  }
  return *gradients_;
}

void worker_group::open_step(step_info const& now, strategy& exchange_strategy, parameter_update& update,
                             int micro_batches) {
  step_job opened;
  opened.data = &batch_;
  opened.kind.accumulates = micro_batches > 1;
  opened.micro_batches = micro_batches;
  opened.now = now;
  opened.exchange_strategy = &exchange_strategy;
  opened.update = &update;
  opened.exchanges = exchange_strategy.what() == exchanged::gradient;
  job_ = std::move(opened);
  ++jobs_;
  rejected_.store(false, std::memory_order_relaxed);
  locally_non_finite_.store(false, std::memory_order_relaxed);
  for (auto& count : arrived_) count.store(0, std::memory_order_relaxed);
  job_.times.prepare = clock::now();
}

step_outcome worker_group::close_step(bool ran, clock::time_point beginning) {
  step_outcome result;
  step_times& times = job_.times;
  if (ran) {
    result.finite = !locally_non_finite_.load() && !rejected_.load();
    result.all_finite = !rejected_.load();
    result.updated = job_.is_applied && result.all_finite;
    if (states_ && job_.data->count > 0 && result.finite) states_->advance();
  }
  times.after_update = clock::now();
  job_.now.mine.not_finite |= !result.finite;
  job_.exchange_strategy->after_update(job_.now, {*backend_.parameters, *job_.update}, result.updated);
  times.end = clock::now();
  result.exchange_seconds = std::exchange(late_wait_seconds_, 0) + seconds(times.forward - beginning)
                            + seconds(times.update - times.exchange)
                            + seconds(times.end - times.after_update);
  result.times = times;
  return result;
}

step_outcome worker_group::step(batch_view const& b, step_info const& now, strategy& exchange_strategy,
                                parameter_update& update, int micro_batches) {
  batch_ = b;
  late_update const before = std::exchange(pending_, {});
  open_step(now, exchange_strategy, update, micro_batches);
  job_.before = before;
  job_.rounds = rounds(b.even ? b.global_count : 0, micro_batches);
  job_.now.late = late_buckets(*backend_.parameters, update, settings_.not_finite, is_synchronised());
  step_outcome result;
  notify_on_failure(exchange_strategy, [&] {
    prepare();
    gradients();
    auto const beginning = clock::now();
    exchange_strategy.begin(job_.now, {*backend_.parameters, update});
    step_times& times = job_.times;
    times.forward = times.backward = times.exchange = times.update = clock::now();
    bool const has_weight = b.count > 0 && now.weight > 0, runs = job_.exchanges || has_weight;
    if (runs) team_.run(step_);
    result = close_step(runs, beginning);
    if (has_weight)
      for (worker_state const& one : worker_states_) result.loss += one.loss;
  });
  return result;
}

void worker_group::begin_step(step_info const& now, strategy& exchange_strategy, parameter_update& update) {
  finish_pending();
  open_step(now, exchange_strategy, update, 1);
  parts_ = {};
  for (worker_state& one : worker_states_) {
    one.active = nullptr;
    one.has_gradient = false;
  }
  if (gradients_) gradients_->statistics().clear();
  notify_on_failure(exchange_strategy, [&] {
    parts_.beginning = clock::now();
    exchange_strategy.begin(job_.now, {*backend_.parameters, update});
    step_times& times = job_.times;
    times.forward = times.backward = times.exchange = times.update = clock::now();
  });
}

double worker_group::forward(batch_view const& b, int rounds) {
  batch_ = b;
  job_.rounds = rounds;
  double loss = 0;
  notify_on_failure(*job_.exchange_strategy, [&] {
    prepare();
    gradients();
    team_.run([&](int w) { forward_part(w); });
    for (worker_state const& one : worker_states_) loss += one.loss;
  });
  return loss;
}

void worker_group::forward_part(int w) {
  backend_.parameters->refresh(w, size());  // prepare may have made plans with further working copies
  team_.barrier(w);
  worker_state& mine = worker_states_[static_cast<std::size_t>(w)];
  mine.loss = 0;
  index_slice const rows = rows_of(w);
  if (rows.count == 0) {
    if (job_.rounds > 0) sums_->join_forward(w);
    return;
  }
  mine.loss = forward(w, rows).loss();
  if (!is_finite(mine.loss)) set_non_finite();
}

void worker_group::backward(double weight) {
  double const before = parts_.weight;
  parts_.weight += weight;
  double const whole = parts_.weight;
  notify_on_failure(*job_.exchange_strategy, [&] {
    team_.run([&](int w) { backward_part(w, whole > 0 ? 1 / whole : 0, whole > 0 ? before / whole : 0); });
  });
}

/// `scale`: factor of the added gradients. `former`: factor of the gradients of earlier micro-batches.
void worker_group::backward_part(int w, double scale, double former) {
  worker_state& mine = worker_states_[static_cast<std::size_t>(w)];
  std::byte* const arena = gradients_->all()[static_cast<std::size_t>(w)];
  if (mine.has_gradient && former != 1) passes().scale(arena, backend_.parameters->arena_elements(), former);
  if (rows_of(w).count == 0) {
    if (job_.rounds > 0) sums_->join_backward(w);
    return;
  }
  mine.active->backward({.gradient_scale = scale,
                         .accumulate = std::exchange(mine.has_gradient, true),
                         .ready = nullptr,
                         .statistics = gradients_->statistics().part(static_cast<std::size_t>(w))});
}

void worker_group::exchange(step_info const& now, bool is_only_rank) {
  parts_.exchanged = true;
  job_.now = now;
  bool const has_weight = now.examples > 0 && now.weight > 0;
  job_.is_applied = job_.exchanges || has_weight;
  notify_on_failure(*job_.exchange_strategy, [&] {
    gradients();
    team_.run([&](int w) {
      std::byte* const arena = gradients_->all()[static_cast<std::size_t>(w)];
      std::size_t const elements = backend_.parameters->arena_elements();
      if (!worker_states_[static_cast<std::size_t>(w)].has_gradient)
        passes().fill(arena, 0, elements, 0);
      else if (!finite(arena, 0, elements))
        set_non_finite();
      team_.barrier(w);
      if (locally_non_finite_.load(std::memory_order_relaxed)) passes().fill(arena, 0, elements, 0);
      team_.barrier(w);
      if (w != 0) return;
      job_.times.exchange = job_.times.update = clock::now();
      for (bucket const& one : backend_.parameters->buckets())
        if (job_.exchanges) job_.exchange_strategy->ready(now_with_votes(), one, *gradients_);
      if (job_.exchanges) finish_exchange();
      if (job_.exchanges && !is_only_rank) return;
      for (bucket const& one : backend_.parameters->buckets()) gradients_->sum(one);
    });
  });
}

step_outcome worker_group::end_step(step_info const& now, bool changed) {
  if (!parts_.exchanged) exchange(now);
  step_outcome result;
  notify_on_failure(*job_.exchange_strategy, [&] {
    team_.run([&](int w) {
      if (w == 0 && changed && !finite(gradients_->first(), 0, backend_.parameters->arena_elements()))
        set_non_finite();
      team_.barrier(w);
      update(w);
    });
    result = close_step(true, parts_.beginning);
  });
  return result;
}

void worker_group::finish_pending() {
  std::lock_guard const one_at_a_time(pending_mutex_);
  if (!pending_) return;
  job_.before = std::exchange(pending_, {});
  notify_on_failure(job_.before.exchange_strategy(), [&] { team_.run(late_); });
}

std::string worker_group::non_finite_location() {
  std::string where;
  if (!locally_non_finite_.load()) return where;
  team_.run([&](int w) {
    if (w != 0) return;
    for (worker_state& one : worker_states_)
      if (where.empty() && one.active) where = one.active->first_non_finite();
  });
  if (!where.empty()) return "first in " + where;
  return sums_ ? "in backward, or in the layers' sums over workers and ranks" : "in backward";
}

std::vector<plan_row> worker_group::profile_rows(int count, int micro_batches) const {
  std::vector<plan_row> rows;
  for (int w = 0; w < size(); ++w) {
    index_slice const mine = part_of({0, count}, w, size());
    auto const least = static_cast<int>(part_of(mine, micro_batches - 1, micro_batches).count);
    auto const most = static_cast<int>(part_of(mine, 0, micro_batches).count);
    contexts_.add_profile(w, most, rows);
    if (least != most) contexts_.add_profile(w, least, rows);
  }
  return rows;
}

void worker_group::inference_call::operator()(int w) const {
  index_slice const rows = group->rows_of(w);
  if (rows.count > 0) group->forward(w, rows);
}

void worker_group::refresh_stale() {
  team_.run([&](int w) {
    if (w == 0) backend_.parameters->refresh_stale();
  });
}

int worker_group::micro_batch_count(index_slice const& rows) const {
  return static_cast<int>(std::min<std::int64_t>(rows.count, job_.micro_batches));
}

work_kind worker_group::work_on(index_slice const& rows) const {
  work_kind what = job_.kind;
  what.examples = static_cast<int>(rows.count);
  return what;
}

void worker_group::prepare() {
  for (int w = 0; w < size(); ++w) {
    worker_states_[static_cast<std::size_t>(w)].active = nullptr;
    index_slice const rows = rows_of(w);
    int const micro_batches = micro_batch_count(rows);
    if (micro_batches == 0) continue;
    for (int p : {0, micro_batches - 1}) {
      work_kind const what = work_on(part_of(rows, p, micro_batches));
      contexts_.make(w, what, what.training ? gradients().all()[static_cast<std::size_t>(w)] : nullptr);
    }
  }
}

plan_context& worker_group::forward(int w, index_slice const& rows, bool finishes_late) {
  worker_state& mine = worker_states_[static_cast<std::size_t>(w)];
  mine.active = &contexts_.find(w, work_on(rows));
  forward_request& request =
      mine.rows.select(*job_.data, rows, job_.kind.training, settings_.seed, job_.now.step,
                       sums_ && job_.kind.training ? sums_->of(w) : nullptr);
  if (states_ && job_.kind.training) {
    request.states = states_.get();
    request.first_row = static_cast<int>(rows.first);
  }
  if (finishes_late) {
    if (!mine.finish_late) mine.finish_late = [this, w] { finish_late(w); };
    request.late_from = job_.before.first_parameter();
    request.late = &mine.finish_late;
  }
  mine.active->forward(request);
  return *mine.active;
}

void worker_group::finish_late(int w) {
  job_.before.finish(*backend_.parameters, w, size(), late_wait_seconds_, [&] { team_.barrier(w); });
}

void worker_group::work(int w) {
  backend_.parameters->refresh(w, size(), job_.before.early());
  team_.barrier(w);
  compute(w);
  team_.barrier(w);
  if (w == 0) job_.times.exchange = job_.times.update = clock::now();
  if (job_.exchanges) {
    if (w == 0) finish_exchange();
    team_.barrier(w);
  }
  update(w);
}

void worker_group::update(int w) {
  if (!job_.is_applied || rejected_.load(std::memory_order_relaxed)) return;
  if (w == 0) backend_.parameters->mark_updated();
  job_.update->run(
      w, size(), gradients_->all(), job_.now.step, job_.now.epoch, [&] { team_.barrier(w); },
      pending_.early());
  if (w != 0) return;
  if (!job_.exchanges) gradients_->statistics().merge_workers();
  gradients_->statistics().follow(*backend_.parameters, pending_.early());
}

void worker_group::finish_exchange() {
  gradients_->statistics().merge_workers();
  job_.is_applied = job_.exchange_strategy->before_update(now_with_votes(), *gradients_);
  job_.times.update = clock::now();
  if (int const pending = job_.exchange_strategy->pending_buckets(); pending > 0)
    pending_ = late_update(*job_.exchange_strategy, pending, *gradients_, *job_.update, job_.now);
  bool const voted = job_.exchange_strategy->agreed() != nullptr;
  rejected_.store(
      job_.is_applied
          && (!finite(gradients_->first(), 0, backend_.parameters->offset_of(pending_.early().last))
              || (!voted && locally_non_finite_.load(std::memory_order_relaxed))),
      std::memory_order_relaxed);
  if (pending_ && (!job_.is_applied || rejected_.load(std::memory_order_relaxed)))
    std::exchange(pending_, {}).exchange_strategy().finish_pending(*gradients_);  // the sums are discarded
}

void worker_group::compute(int w) {
  worker_state& mine = worker_states_[static_cast<std::size_t>(w)];
  mine.loss = 0;
  std::byte* const arena = gradients_->all()[static_cast<std::size_t>(w)];
  batch_statistics& statistics = gradients_->statistics();
  if (job_.exchanges && !mine.ready)
    mine.ready = [this, w](bucket const& one) {
      if (!finite(one, gradients_->all()[static_cast<std::size_t>(w)])) set_non_finite();
      arrive(one);
    };
  index_slice const rows = rows_of(w);
  int const micro_batches = micro_batch_count(rows);
  int forwards = 0, done = 0;
  if (job_.before && micro_batches == 0) finish_late(w);
  while (done < micro_batches && is_finite(mine.loss)) {
    plan_context& now = forward(w, part_of(rows, forwards, micro_batches), job_.before && forwards == 0);
    ++forwards;
    if (job_.exchanges) mine.loss += now.loss();
    if (!is_finite(mine.loss)) break;
    if (w == 0 && micro_batches == 1) job_.times.backward = clock::now();
    bool const last = done + 1 == micro_batches;
    if (done == 0) statistics.clear(static_cast<std::size_t>(w));  // forward may have used the last ones
    now.backward({.gradient_scale = job_.now.weight > 0 ? 1.0 / job_.now.weight : 0,
                  .accumulate = done > 0,
                  .ready = job_.exchanges && last ? &mine.ready : nullptr,
                  .statistics = statistics.part(static_cast<std::size_t>(w))});
    ++done;
    if (job_.exchanges) continue;
    if (last && !finite(arena, 0, backend_.parameters->arena_elements())) set_non_finite();
    mine.loss += now.loss();
  }
  if (!is_finite(mine.loss)) set_non_finite();
  for (int p = done; p < job_.rounds; ++p) {  // the other workers' sums include this worker
    if (p >= forwards) sums_->join_forward(w);
    sums_->join_backward(w);
  }
  if (done > 0 && done == micro_batches) return;
  passes().fill(arena, 0, backend_.parameters->arena_elements(), 0);
  statistics.clear(static_cast<std::size_t>(w));
  if (job_.exchanges)
    for (bucket const& one : backend_.parameters->buckets()) arrive(one);
}

void worker_group::arrive(bucket const& one) {
  if (arrived_[static_cast<std::size_t>(one.index)].fetch_add(1, std::memory_order_acq_rel) + 1 == size())
    job_.exchange_strategy->ready(now_with_votes(), one, *gradients_);
}

step_info worker_group::now_with_votes() const {
  step_info now = job_.now;
  now.mine.not_finite |= locally_non_finite_.load(std::memory_order_relaxed);
  return now;
}

void worker_group::set_non_finite() {
  locally_non_finite_.store(true, std::memory_order_relaxed);
  rejected_.store(true, std::memory_order_relaxed);
}

bool worker_group::finite(bucket const& one, std::byte const* arena) const {
  parameter_set::arena_range const range = backend_.parameters->range_of(one);
  return finite(arena, range.offset, range.room);
}

bool worker_group::finite(std::byte const* arena, std::size_t first, std::size_t count) const {
  element_type const type = backend_.parameters->type();
  return passes().finite(type, arena + first * bytes_of(type), count);
}

}  // namespace cohort::detail
