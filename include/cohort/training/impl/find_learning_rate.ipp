// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cohort/communicator/require_same.hpp>
#include <cohort/data/loader.hpp>
#include <cohort/data/normalisation.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cohort/tensor/finite.hpp>
#include <cohort/training/detail/carried_states.hpp>
#include <cohort/training/detail/csv_text.hpp>
#include <cohort/training/detail/run_checks.hpp>
#include <cohort/training/detail/step_runner.hpp>
#include <cohort/training/detail/training_state.hpp>
#include <cohort/training/find_learning_rate.hpp>
#include <cohort/training/training.hpp>
#include <limits>
#include <memory>
#include <span>

namespace cohort::detail {

/// A copy of the parameters of a run. The destructor restores the parameters bit for bit.
class kept_parameters {
 public:
  explicit kept_parameters(parameter_set& all) : all_(all), kept_(all.arena_bytes(), all.passes().space()) {
    all.passes().copy(all.master(), kept_.data(), kept_.bytes());
  }
  kept_parameters(kept_parameters const&) = delete;
  ~kept_parameters() {
    all_.passes().copy(kept_.data(), all_.master(), kept_.bytes());
    for (int p = 0; p < static_cast<int>(all_.table().size()); ++p) all_.mark_whole(p);
    all_.mark_changed();
  }

 private:
  parameter_set& all_;
  buffer kept_;
};

/// Returns the optimizer's settings with rate 1 instead of the network's rate, and other rates in proportion.
optimizer_settings with_unit_rate(optimizer_settings how, training_position const& at) {
  double const base = how.rule.learning_rate().value(at.step, at.epoch);
  auto const scaled = [&](optimizer_rule const& one) {
    double const rate = one.learning_rate().value(at.step, at.epoch);
    return one.with_learning_rate(base > 0 && rate > 0 ? rate / base : 1);
  };
  how.rule = scaled(how.rule);
  if (how.bias_rule) how.bias_rule = scaled(*how.bias_rule);
  for (layer_override& one : how.layers) {
    if (one.rule) one.rule = scaled(*one.rule);
    if (one.bias_rule) one.bias_rule = scaled(*one.bias_rule);
  }
  return how;
}

/// Returns the rate in the middle of that third of the rows in which the least-squares line through the
/// losses falls most steeply. Rows after the lowest smoothed loss are not used. Thirds are used because the
/// losses of batches are noisy: over fewer rows, the steepest slope would be caused by noise.
std::optional<double> steepest(std::span<rate_table::row const> rows) {
  std::size_t const width = std::max<std::size_t>(rows.size() / 3, 3);
  if (rows.size() < width) return {};
  auto const averaged = rows.subspan(width - 1);
  auto const lowest = std::ranges::min_element(averaged, {}, &rate_table::row::smoothed) - averaged.begin();
  std::optional<double> rate;
  double steepest = 0;
  for (std::size_t first = 0; first <= static_cast<std::size_t>(lowest); ++first) {
    double slope = 0;  // least-squares slope times a positive constant
    for (std::size_t i = 0; i < width; ++i)
      slope += (static_cast<double>(i) - static_cast<double>(width - 1) / 2) * rows[first + i].loss;
    if (slope < steepest) {
      steepest = slope;
      rate = rows[first + width / 2].rate;
    }
  }
  return rate;
}

/// Objects of a learning-rate test. Workers that missed a deadline may still use these objects.
struct rate_trial {
  rate_trial(training_state& run, dataset const& data, loader_settings settings)
      : batches(normalised(data, run.preparation.rescaling), std::move(settings)),
        update(run.parameters(), with_unit_rate(run.settings.optimizer, run.position)) {
    if (run.world->size() > 1)
      exchange = allreduce{.resync = 0}.on(*run.world);
    else
      exchange = std::make_unique<no_exchange>();
  }

  loader batches;
  parameter_update update;
  std::unique_ptr<strategy> exchange;
  batch_view now{};
};

}  // namespace cohort::detail

namespace cohort {

std::string rate_table::csv() const {
  std::string const names[]{"rate", "loss", "smoothed"};
  std::vector<double> columns[3];
  for (row const& one : rows) {
    columns[0].push_back(one.rate);
    columns[1].push_back(one.loss);
    columns[2].push_back(one.smoothed);
  }
  return detail::csv_text(names, columns);
}

rate_table find_learning_rate(training& run, dataset const& data, rate_search const& how) {
  detail::training_state& state = run.state();
  detail::refuse_states(state, "find_learning_rate");
  if (!(how.from > 0 && how.from < how.to && is_finite(how.to)) || how.steps < 3
      || !(how.smoothing >= 0 && how.smoothing < 1) || !(how.stop_at > 1))
    throw setting_error({.what = "invalid settings of a learning-rate range test",
                         .where = "find_learning_rate",
                         .expected = "0 < from < to, steps ≥ 3, 0 ≤ smoothing < 1, stop_at > 1",
                         .got = {"from ", how.from, ", to ", how.to, ", steps ", how.steps, ", smoothing ",
                                 how.smoothing, ", stop_at ", how.stop_at}});
  fit_settings const as_fit{.batch = how.batch, .accumulate = how.accumulate, .sharding = how.sharding};
  detail::check_ranks(state, data, as_fit, "find_learning_rate");
  if (state.world->size() > 1) {
    shared_fact const same[]{
        {"range test", detail::text_of({"from ", how.from, " to ", how.to, " in ", how.steps,
                                        " steps, smoothing ", how.smoothing, ", stop_at ", how.stop_at})}};
    detail::require_same(*state.world, "find_learning_rate", same);
  }
  detail::check_batch(as_fit);
  detail::check_dataset(state, data, "find_learning_rate");
  communicator& world = *state.world;
  detail::step_runner(state).prepare(how.batch, how.accumulate);
  loader_settings const loading{.batch = how.batch,
                                .rank = world.rank(),
                                .ranks = world.size(),
                                .seed = state.settings.seed,
                                .deadline = state.settings.deadline,
                                .local_sizes = detail::local_sizes(world, data, how.sharding)};
  auto const trial = std::make_shared<detail::rate_trial>(state, data, loading);
  state.gather_parameters();
  detail::kept_parameters const kept(state.parameters());
  rate_table table;
  double average = 0, decay = 1, lowest = std::numeric_limits<double>::infinity();
  std::int64_t epoch = 0;
  trial->batches.start(epoch);
  for (int i = 0; i < how.steps; ++i) {
    batch const* next = trial->batches.next();
    if (!next) {
      trial->batches.start(++epoch);
      next = trial->batches.next();
    }
    double const rate = how.from * std::pow(how.to / how.from, i / (how.steps - 1.0));
    trial->update.scale_rates(rate);
    trial->now = next ? batch_view(*next) : batch_view();
    double const weight = state.weight_of(trial->now);
    detail::step_outcome const done = state.run_workers(trial, [&] {
      step_info const now{.step = i,
                          .epoch = 0,
                          .examples = trial->now.count,
                          .weight = weight,
                          .expected = trial->now.global_count > 0 ? trial->now.global_count
                                                                  : std::int64_t{how.batch} * world.size()};
      return state.workers->step(trial->now, now, *trial->exchange, trial->update, how.accumulate);
    });
    double sums[3]{done.finite ? done.loss : 0, weight, done.finite ? 0.0 : 1.0};
    world.allreduce(std::span<double>(sums));
    if (sums[1] == 0) continue;  // no example of the batch has a weight
    double const loss = sums[0] / sums[1];
    if (sums[2] > 0 || !is_finite(loss)) break;
    average = how.smoothing * average + (1 - how.smoothing) * loss;
    decay *= how.smoothing;
    double const smoothed = average / (1 - decay);
    table.rows.push_back({rate, loss, smoothed});
    if (smoothed > how.stop_at * lowest) break;
    lowest = std::min(lowest, smoothed);
  }
  table.suggested = detail::steepest(table.rows);
  return table;
}

}  // namespace cohort
