// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/detail/config.hpp>
#include <cohort/plan/make_plan.hpp>
#include <cohort/tensor/finite.hpp>
#include <cohort/trainer/detail/notify_on_failure.hpp>
#include <cohort/trainer/detail/worker_group.hpp>
#include <utility>

namespace cohort::detail {

COHORT_CORE_INLINE worker_group::worker_group(backend_handle port, training_settings const& settings,
                                              std::chrono::milliseconds exchange)
    : port_(std::move(port)),
      settings_(settings),
      former_threads_(static_cast<std::size_t>(settings.workers)),
      team_(settings.workers,
            {.deadline = settings.deadline + exchange,
             .enter =
                 [this](int w) {
                   former_threads_[static_cast<std::size_t>(w)] = port_.threads(settings_.threads);
                 },
             .leave = [this](int w) { port_.threads(former_threads_[static_cast<std::size_t>(w)]); }}),
      contexts_(port_, team_, settings.max_bytes),
      results_(static_cast<std::size_t>(settings.workers)),
      arrived_(port_.parameters->buckets().size()) {}

COHORT_CORE_INLINE int worker_group::piece_of(int batch, int pieces) const {
  return static_cast<int>(part_of({0, part_of({0, batch}, 0, size()).count}, 0, pieces).count);
}

COHORT_CORE_INLINE void worker_group::synchronise(plan_sums const& sizes,
                                                  std::unique_ptr<communicator> world) {
  sums_.emplace(team_, sizes, std::move(world));
}

COHORT_CORE_INLINE gradient_parts& worker_group::gradients() {
  if (!gradients_) {
    std::vector<std::byte*> parts;
    for (int w = 0; w < size(); ++w) {
      arenas_.emplace_back(port_.parameters->arena_bytes(), passes().space());
      parts.push_back(arenas_.back().data());
    }
    gradients_.emplace(*port_.parameters, std::move(parts));
  }
  return *gradients_;
}

COHORT_CORE_INLINE step_outcome worker_group::step(batch const& b, step_info const& now, strategy& agree,
                                                   parameter_update& update, int pieces) {
  job_ = {.data = &b,
          .kind = {.accumulates = pieces > 1},
          .pieces = pieces,
          .rounds = sums_ ? sums_->rounds(b.global_count, pieces) : 0,
          .now = now,
          .agree = &agree,
          .update = &update,
          .exchanges = agree.what() == exchanged::gradient};
  job_.before = std::exchange(left_, {});
  job_.now.late = late_buckets(*port_.parameters, update, settings_.not_finite, is_synchronised());
  bad_.store(false, std::memory_order_relaxed);
  own_bad_.store(false, std::memory_order_relaxed);
  for (auto& count : arrived_) count.store(0, std::memory_order_relaxed);
  replica const mine{*port_.parameters, update};
  step_outcome result;
  step_times& times = job_.times;
  times.prepare = clock::now();
  notify_on_failure(agree, [&] {
    prepare();
    gradients();
    auto const beginning = clock::now();
    agree.begin(job_.now, mine);
    times.forward = times.backward = times.exchange = times.update = clock::now();
    bool const has_weight = b.count > 0 && now.weight > 0;
    if (job_.exchanges || has_weight) {
      job_.takes = true;
      team_.run(step_);
      result.finite = !own_bad_.load() && !bad_.load();
      result.all_finite = !bad_.load();
      result.updated = job_.takes && result.all_finite;
    }
    if (has_weight)
      for (worker const& one : results_) result.loss += one.loss;
    times.settle = clock::now();
    job_.now.mine.not_finite |= !result.finite;
    agree.after_update(job_.now, mine, result.updated);
    times.end = clock::now();
    result.exchange_seconds = std::exchange(late_seconds_, 0) + seconds(times.forward - beginning)
                              + seconds(times.update - times.exchange) + seconds(times.end - times.settle);
  });
  result.times = times;
  return result;
}

COHORT_CORE_INLINE void worker_group::settle() {
  std::lock_guard const one_at_a_time(settling_);
  if (!left_) return;
  job_.before = std::exchange(left_, {});
  notify_on_failure(job_.before.agree(), [&] { team_.run(late_); });
}

COHORT_CORE_INLINE std::string worker_group::trouble() {
  std::string where;
  if (!own_bad_.load()) return where;
  team_.run([&](int w) {
    if (w != 0) return;
    for (worker& one : results_)
      if (where.empty() && one.now) where = one.now->first_non_finite();
  });
  if (!where.empty()) return "first in " + where;
  return sums_ ? "in backward, or in what workers and ranks sum" : "in backward";
}

COHORT_CORE_INLINE std::vector<plan_row> worker_group::profile_rows(int count, int pieces) const {
  std::vector<plan_row> rows;
  for (int w = 0; w < size(); ++w) {
    index_slice const mine = part_of({0, count}, w, size());
    auto const least = static_cast<int>(part_of(mine, pieces - 1, pieces).count);
    auto const most = static_cast<int>(part_of(mine, 0, pieces).count);
    contexts_.add_profile(w, most, rows);
    if (least != most) contexts_.add_profile(w, least, rows);
  }
  return rows;
}

COHORT_CORE_INLINE void worker_group::inference_call::operator()(int w) const {
  index_slice const rows = group->rows_of(w);
  if (rows.count > 0) group->forward(w, rows);
}

COHORT_CORE_INLINE void worker_group::refresh_stale() {
  team_.run([&](int w) {
    if (w == 0) port_.parameters->refresh_stale();
  });
}

COHORT_CORE_INLINE int worker_group::pieces_of(index_slice const& rows) const {
  return static_cast<int>(std::min<std::int64_t>(rows.count, job_.pieces));
}

COHORT_CORE_INLINE work_kind worker_group::work_on(index_slice const& rows) const {
  work_kind what = job_.kind;
  what.examples = static_cast<int>(rows.count);
  return what;
}

COHORT_CORE_INLINE void worker_group::prepare() {
  for (int w = 0; w < size(); ++w) {
    results_[static_cast<std::size_t>(w)].now = nullptr;
    index_slice const rows = rows_of(w);
    int const pieces = pieces_of(rows);
    if (pieces == 0) continue;
    for (int p : {0, pieces - 1}) {
      work_kind const what = work_on(part_of(rows, p, pieces));
      contexts_.make(w, what, what.training ? gradients().all()[static_cast<std::size_t>(w)] : nullptr);
    }
  }
}

COHORT_CORE_INLINE context& worker_group::forward(int w, index_slice const& rows, bool late) {
  worker& mine = results_[static_cast<std::size_t>(w)];
  mine.now = &contexts_.find(w, work_on(rows));
  forward_request request =
      mine.rows.take(*job_.data, rows, job_.kind.training, settings_.seed, job_.now.step,
                     sums_ && job_.kind.training ? sums_->of(w) : nullptr);
  if (late) {
    if (!mine.late) mine.late = [this, w] { take_late(w); };
    request.late_from = job_.before.first_parameter();
    request.late = &mine.late;
  }
  mine.now->forward(request);
  return *mine.now;
}

COHORT_CORE_INLINE void worker_group::take_late(int w) {
  job_.before.take(*port_.parameters, w, size(), late_seconds_, [&] { team_.barrier(w); });
}

COHORT_CORE_INLINE void worker_group::work(int w) {
  port_.parameters->refresh(w, size(), job_.before.early());
  team_.barrier(w);
  compute(w);
  team_.barrier(w);
  if (w == 0) job_.times.exchange = job_.times.update = clock::now();
  if (job_.exchanges) {
    if (w == 0) finish_exchange();
    team_.barrier(w);
  }
  if (!job_.takes || bad_.load(std::memory_order_relaxed)) return;
  if (w == 0) port_.parameters->updated();
  job_.update->take(
      w, size(), gradients_->all(), job_.now.step, job_.now.epoch, [&] { team_.barrier(w); }, left_.early());
}

COHORT_CORE_INLINE void worker_group::finish_exchange() {
  job_.takes = job_.agree->before_update(now_with_votes(), *gradients_);
  job_.times.update = clock::now();
  if (int const left = job_.agree->pending_buckets(); left > 0)
    left_ = late_update(*job_.agree, left, *gradients_, *job_.update, job_.now);
  bool const voted = job_.agree->agreed() != nullptr;
  bad_.store(job_.takes
                 && (!finite(gradients_->first(), 0, port_.parameters->place_of(left_.early().last))
                     || (!voted && own_bad_.load(std::memory_order_relaxed))),
             std::memory_order_relaxed);
  if (left_ && (!job_.takes || bad_.load(std::memory_order_relaxed)))
    std::exchange(left_, {}).agree().finish_pending(*gradients_);  // sums that nobody wants
}

COHORT_CORE_INLINE void worker_group::compute(int w) {
  worker& mine = results_[static_cast<std::size_t>(w)];
  mine.loss = 0;
  std::byte* const arena = gradients_->all()[static_cast<std::size_t>(w)];
  if (job_.exchanges && !mine.ready)
    mine.ready = [this, w](bucket const& one) {
      if (!finite(one, gradients_->all()[static_cast<std::size_t>(w)])) set_bad();
      arrive(one);
    };
  index_slice const rows = rows_of(w);
  int const pieces = pieces_of(rows);
  int forwards = 0, done = 0;
  if (job_.before && pieces == 0) take_late(w);
  while (done < pieces && is_finite(mine.loss)) {
    context& now = forward(w, part_of(rows, forwards, pieces), job_.before && forwards == 0);
    ++forwards;
    if (job_.exchanges) mine.loss += now.loss();
    if (!is_finite(mine.loss)) break;
    if (w == 0 && pieces == 1) job_.times.backward = clock::now();
    bool const last = done + 1 == pieces;
    now.backward({.gradient_scale = job_.now.weight > 0 ? 1.0 / job_.now.weight : 0,
                  .accumulate = done > 0,
                  .ready = job_.exchanges && last ? &mine.ready : nullptr});
    ++done;
    if (job_.exchanges) continue;
    if (last && !finite(arena, 0, port_.parameters->arena_elements())) set_bad();
    mine.loss += now.loss();
  }
  if (!is_finite(mine.loss)) set_bad();
  for (int p = done; p < job_.rounds; ++p) {  // the others count on this worker
    if (p >= forwards) sums_->join_forward(w);
    sums_->join_backward(w);
  }
  if (done > 0 && done == pieces) return;
  passes().fill(arena, 0, port_.parameters->arena_elements(), 0);
  if (job_.exchanges)
    for (bucket const& one : port_.parameters->buckets()) arrive(one);
}

COHORT_CORE_INLINE void worker_group::arrive(bucket const& one) {
  if (arrived_[static_cast<std::size_t>(one.index)].fetch_add(1, std::memory_order_acq_rel) + 1 == size())
    job_.agree->ready(now_with_votes(), one, *gradients_);
}

COHORT_CORE_INLINE step_info worker_group::now_with_votes() const {
  step_info now = job_.now;
  now.mine.not_finite |= own_bad_.load(std::memory_order_relaxed);
  return now;
}

COHORT_CORE_INLINE void worker_group::set_bad() {
  own_bad_.store(true, std::memory_order_relaxed);
  bad_.store(true, std::memory_order_relaxed);
}

COHORT_CORE_INLINE bool worker_group::finite(bucket const& one, std::byte const* arena) const {
  parameter_set::arena_range const lies = port_.parameters->range_of(one);
  return finite(arena, lies.offset, lies.room);
}

COHORT_CORE_INLINE bool worker_group::finite(std::byte const* arena, std::size_t first,
                                             std::size_t count) const {
  element_type const type = port_.parameters->type();
  return passes().finite(type, arena + first * bytes_of(type), count);
}

}  // namespace cohort::detail
