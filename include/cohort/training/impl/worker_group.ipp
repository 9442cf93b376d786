// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/plan/make_plan.hpp>
#include <cohort/tensor/finite.hpp>
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
  if (!gradients_) make_gradients(false);
  return *gradients_;
}

void worker_group::make_gradients(bool are_freed) {
  std::size_t const bytes = backend_.parameters->arena_bytes();
  std::vector<std::byte*> parts;
  for (int w = 0; w < size(); ++w) {
    arenas_.push_back(are_freed ? buffer::of_small_pages(bytes) : buffer(bytes, passes().space()));
    parts.push_back(arenas_.back().data());
  }
  gradients_.emplace(*backend_.parameters, std::move(parts));
}

void worker_group::begin(step_job job) {
  job_ = std::move(job);
  strategy& exchange_strategy = *job_.exchange_strategy;
  parameter_set& parameters = *backend_.parameters;
  job_.exchanges = exchange_strategy.what() == exchanged::gradient;
  job_.late = std::exchange(late_, {});
  set_info(job_.now);
  ++jobs_;
  rejected_.store(false, std::memory_order_relaxed);
  locally_non_finite_.store(false, std::memory_order_relaxed);
  for (auto& count : arrived_) count.store(0, std::memory_order_relaxed);
  for (worker_state& one : worker_states_) {
    one.loss = 0;
    one.has_unread_loss = one.is_not_finite = one.has_announced = false;
    one.backwards = 0;
  }
  step_times& times = job_.times;
  times.prepare = clock::now();
  notify_on_failure(exchange_strategy, [&] {
    if (!has_gradients()) make_gradients(exchange_strategy.freed_gradients(parameters) > 0);
    prepare();
    job_.beginning = clock::now();
    exchange_strategy.begin(job_.now, {parameters, *job_.update});
    times.forward = times.backward = times.exchange = times.update = clock::now();
  });
}

void worker_group::set_info(step_info const& now) {
  job_.now = now;
  job_.is_applied = job_.exchanges || (now.examples > 0 && now.weight > 0);
}

step_outcome worker_group::end() {
  step_outcome result;
  step_times& times = job_.times;
  result.finite = !locally_non_finite_.load() && !rejected_.load();
  result.all_finite = !rejected_.load();
  result.updated = job_.is_applied && result.all_finite;
  bool const has_run = job_.exchanges || job_.is_applied;
  if (states_ && has_run && batch_.count > 0 && result.finite) states_->advance();
  times.after_update = clock::now();
  job_.now.mine.not_finite |= !result.finite;
  job_.exchange_strategy->after_update(job_.now, {*backend_.parameters, *job_.update}, result.updated);
  times.end = clock::now();
  result.exchange_seconds = std::exchange(late_wait_seconds_, 0) + seconds(times.forward - job_.beginning)
                            + seconds(times.update - times.exchange)
                            + seconds(times.end - times.after_update);
  result.times = times;
  if (job_.now.weight > 0)
    for (worker_state const& one : worker_states_) result.loss += one.loss;
  return result;
}

step_outcome worker_group::step(batch_view const& b, step_info const& now, strategy& exchange_strategy,
                                parameter_update& update, int micro_batches) {
  batch_ = b;
  step_job whole{.kind = {.accumulates = micro_batches > 1},
                 .micro_batches = micro_batches,
                 .rounds = rounds(b.even ? b.global_count : 0, micro_batches),
                 .weight = now.weight,
                 .now = now,
                 .exchange_strategy = &exchange_strategy,
                 .update = &update};
  whole.now.max_late_buckets =
      late_buckets(*backend_.parameters, update, settings_.not_finite, is_synchronised());
  begin(std::move(whole));
  step_outcome result;
  notify_on_failure(exchange_strategy, [&] {
    if (job_.is_applied) team_.run(step_);
    result = end();
  });
  return result;
}

void worker_group::begin_step(work_kind kind, step_info const& now, strategy& exchange_strategy,
                              parameter_update& update) {
  batch_ = {};
  if (kind.output_gradients)  // the exchange writes to a worker's arena even if the worker has no examples
    for (worker_state& worker : worker_states_) worker.has_other_gradients = true;
  begin({.kind = std::move(kind),
         .in_parts = true,
         .now = now,
         .exchange_strategy = &exchange_strategy,
         .update = &update});
}

double worker_group::forward(batch_view const& b, int rounds) {
  batch_ = b;
  job_.rounds = rounds;
  for (worker_state& one : worker_states_) one.loss = 0;
  notify_on_failure(*job_.exchange_strategy, [&] {
    prepare();
    team_.run([&](int w) { forward_part(w, 0); });
  });
  job_.late = {};
  double loss = 0;
  for (worker_state const& one : worker_states_) loss += one.loss;
  return loss;
}

void worker_group::backward(double weight, std::span<tensor_view const> output_gradients) {
  double const before = std::exchange(job_.weight, job_.weight + weight);
  job_.former = job_.weight > 0 ? before / job_.weight : 0;
  job_.output_gradients = output_gradients;
  job_.output_scale = job_.weight > 0 ? weight / job_.weight : 0;
  run_part([&](int w) { backward_part(w, 0); });
}

void worker_group::exchange(step_info const& now, bool is_only_rank) {
  set_info(now);
  run_part([&](int w) {
    exchange_part(w);
    if (w == 0 && (!job_.exchanges || is_only_rank))
      for (bucket const& one : backend_.parameters->buckets()) gradients_->sum(one);
  });
}

step_outcome worker_group::end_step(bool changed) {
  step_outcome result;
  notify_on_failure(*job_.exchange_strategy, [&] {
    team_.run([&](int w) {
      if (w == 0 && changed && !finite(gradients_->first(), 0, backend_.parameters->arena_elements()))
        set_not_finite(w);
      team_.barrier(w);
      update_part(w);
    });
    result = end();
  });
  return result;
}

void worker_group::finish_late() {
  std::lock_guard const one_at_a_time(late_mutex_);
  if (!late_) return;
  job_.late = std::exchange(late_, {});
  notify_on_failure(job_.late.exchange_strategy(), [&] { team_.run(finish_late_); });
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

void worker_group::infer_part(int w) {
  index_slice const rows = rows_of(w);
  if (rows.count > 0) forward(w, rows);
}

void worker_group::refresh_stale() {
  team_.run([&](int w) {
    if (w == 0) backend_.parameters->refresh_stale();
  });
}

int worker_group::micro_batch_count(index_slice const& rows) const {
  return static_cast<int>(std::min<std::int64_t>(rows.count, job_.micro_batches));
}

index_slice worker_group::micro_batch(int w, int p) {
  index_slice const rows = rows_of(w);
  int const count = micro_batch_count(rows);
  return p < count && is_finite(state_of(w).loss) ? part_of(rows, p, count) : index_slice{};
}

work_kind worker_group::work_on(index_slice const& rows) const {
  work_kind what = job_.kind;
  what.examples = static_cast<int>(rows.count);
  return what;
}

void worker_group::prepare() {
  for (int w = 0; w < size(); ++w) {
    state_of(w).active = nullptr;
    index_slice const rows = rows_of(w);
    int const micro_batches = micro_batch_count(rows);
    if (micro_batches == 0) continue;
    for (int p : {0, micro_batches - 1}) {
      work_kind const what = work_on(part_of(rows, p, micro_batches));
      contexts_.make(w, what, what.training ? arena_of(w) : nullptr);
    }
  }
}

void worker_group::forward(int w, index_slice const& rows, bool finishes_late) {
  worker_state& mine = state_of(w);
  bool const trains = job_.kind.training;
  mine.active = &contexts_.find(w, work_on(rows));
  mine.rows.refer_to(batch_, static_cast<int>(rows.first), static_cast<int>(rows.count));
  forward_request request{.inputs = mine.rows.inputs,
                          .targets = mine.rows.targets,
                          .masks = mine.rows.masks,
                          .weights = mine.rows.weights,
                          .indices = mine.rows.indices,
                          .seed = settings_.seed,
                          .step = job_.now.step,
                          .sums = sums_ && trains ? sums_->of(w) : nullptr};
  if (states_ && trains) {
    request.states = states_.get();
    request.first_row = static_cast<int>(rows.first);
  }
  if (finishes_late) {
    if (!mine.finish_late) mine.finish_late = [this, w] { finish_late(w); };
    request.first_late = job_.late.first_late();
    request.finish_late = &mine.finish_late;
  }
  mine.active->forward(request);
}

void worker_group::finish_late(int w) {
  job_.late.finish(*backend_.parameters, w, size(), late_wait_seconds_, [&] { team_.barrier(w); });
}

void worker_group::step_part(int w) {
  int const most = std::max({1, micro_batch_count(rows_of(w)), job_.rounds});
  for (int p = 0; p < most; ++p) {
    forward_part(w, p);
    backward_part(w, p);
  }
  exchange_part(w);
  update_part(w);
}

void worker_group::forward_part(int w, int p) {
  if (p == 0) {
    backend_.parameters->refresh(w, size(), job_.late.not_late());
    team_.barrier(w);
  }
  bool const finishes_late = p == 0 && job_.late;
  index_slice const rows = micro_batch(w, p);
  if (rows.count == 0) {
    if (finishes_late) finish_late(w);
    if (p < job_.rounds) sums_->join_forward(w);
    return;
  }
  forward(w, rows, finishes_late);
  state_of(w).has_unread_loss = true;
  if (job_.exchanges || job_.in_parts) read_loss(w);
}

void worker_group::backward_part(int w, int p) {
  worker_state& mine = state_of(w);
  if (mine.backwards > 0 && job_.former != 1)
    passes().scale(arena_of(w), backend_.parameters->arena_elements(), job_.former);
  if (micro_batch(w, p).count == 0) {
    if (p < job_.rounds) sums_->join_backward(w);
    return;
  }
  if (!mine.ready)
    mine.ready = [this, w](bucket const& one) {
      if (!finite(one, arena_of(w))) set_not_finite(w);
      arrive(one);
    };
  index_slice const rows = micro_batch(w, p);
  mine.output_gradients.clear();
  for (tensor_view const& g : job_.output_gradients)
    mine.output_gradients.push_back(g.rows(static_cast<int>(rows.first), static_cast<int>(rows.count)));
  bool const is_last = p + 1 == micro_batch_count(rows_of(w)), is_first = mine.backwards++ == 0;
  mine.has_announced = job_.exchanges && !job_.in_parts && is_last;
  if (w == 0) job_.times.backward = is_first ? clock::now() : job_.times.forward;
  batch_statistics& statistics = gradients_->statistics();
  // Not earlier: forward may have finished the previous step's late update, which reads its statistics.
  if (is_first) statistics.clear(static_cast<std::size_t>(w));
  bool const of_every_layer = !job_.kind.output_gradients;
  if (is_first && (std::exchange(mine.has_other_gradients, !of_every_layer) || !of_every_layer))
    passes().fill(arena_of(w), 0, backend_.parameters->arena_elements(), 0);
  mine.active->backward({.gradient_scale = job_.weight > 0 ? 1.0 / job_.weight : 0,
                         .accumulate = !is_first,
                         .ready = mine.has_announced ? &mine.ready : nullptr,
                         .statistics = statistics.part(static_cast<std::size_t>(w)),
                         .output_gradients = mine.output_gradients,
                         .output_scale = job_.output_scale});
  if (!is_last) read_loss(w);
}

void worker_group::read_loss(int w) {
  worker_state& mine = state_of(w);
  if (!std::exchange(mine.has_unread_loss, false)) return;
  mine.loss += mine.active->loss();
  if (!is_finite(mine.loss)) set_not_finite(w);
}

void worker_group::complete_gradient(int w) {
  worker_state& mine = state_of(w);
  if (mine.has_announced) return;
  std::size_t const elements = backend_.parameters->arena_elements();
  if (mine.backwards > 0 && !mine.is_not_finite && !finite(arena_of(w), 0, elements)) set_not_finite(w);
  read_loss(w);
  if (mine.backwards == 0 || mine.is_not_finite) {
    passes().fill(arena_of(w), 0, elements, 0);
    gradients_->statistics().clear(static_cast<std::size_t>(w));
  }
  if (job_.exchanges)
    for (bucket const& one : backend_.parameters->buckets()) arrive(one);
}

void worker_group::exchange_part(int w) {
  complete_gradient(w);
  team_.barrier(w);
  if (w == 0) job_.times.exchange = job_.times.update = clock::now();
  if (!job_.exchanges) return;
  if (w == 0) finish_exchange();
  team_.barrier(w);
}

void worker_group::update_part(int w) {
  if (!job_.is_applied || rejected_.load(std::memory_order_relaxed)) return;
  update_request const request{.worker = w,
                               .workers = size(),
                               .parts = gradients_->all(),
                               .step = job_.now.step,
                               .epoch = job_.now.epoch,
                               .which = late_.not_late(),
                               .is_finite = shard_is_finite_};
  bool const is_sharded = job_.update->is_sharded();
  // A sharded update may be rejected, and writes no copies that are fresh after the mark.
  if (w == 0 && !is_sharded) backend_.parameters->mark_updated();
  bool const updated = job_.update->run(
      request, [&] { team_.barrier(w); }, job_.exchange_strategy->shard_ranks());
  if (w != 0) return;
  if (!updated) return rejected_.store(true, std::memory_order_relaxed);
  if (is_sharded) {
    backend_.parameters->mark_updated();
    set_late();  // the gathering of the last layers' parameters
  }
  if (!job_.exchanges) gradients_->statistics().merge_workers();
  gradients_->statistics().follow(*backend_.parameters, late_.not_late());
}

void worker_group::finish_exchange() {
  gradients_->statistics().merge_workers();
  job_.is_applied = job_.exchange_strategy->before_update(now_with_votes(), *gradients_);
  job_.times.update = clock::now();
  set_late();
  bool const voted = job_.exchange_strategy->agreed() != nullptr;
  bool is_finite = true;
  if (!job_.is_applied)
    shard_is_finite_ = true;
  else if (job_.update->is_sharded())
    shard_is_finite_ = std::ranges::all_of(job_.update->shard(), [&](parameter_set::arena_range const& part) {
      return finite(gradients_->first(), part.offset, part.room);
    });
  else
    is_finite = finite(gradients_->first(), 0, backend_.parameters->offset_of(late_.not_late().last));
  rejected_.store(
      job_.is_applied && (!is_finite || (!voted && locally_non_finite_.load(std::memory_order_relaxed))),
      std::memory_order_relaxed);
  if (late_ && (!job_.is_applied || rejected_.load(std::memory_order_relaxed)))
    std::exchange(late_, {}).exchange_strategy().finish_late(*gradients_);  // the sums are discarded
}

void worker_group::set_late() {
  if (int const late = job_.exchange_strategy->late_buckets(); late > 0)
    late_ = late_update(*job_.exchange_strategy, late, *gradients_, *job_.update, job_.now);
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

void worker_group::set_not_finite(int w) {
  state_of(w).is_not_finite = true;
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
