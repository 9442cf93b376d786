// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/detail/config.hpp>
#include <cohort/execution/detail/text_table.hpp>
#include <cohort/execution/usable_processors.hpp>
#include <cohort/io/detail/cached_file.hpp>
#include <cohort/strategy/strategy.hpp>
#include <cohort/trainer/detail/worker_group.hpp>
#include <cohort/trainer/tune.hpp>
#include <limits>
#include <optional>

namespace cohort::detail {

/// Examples of nothing: all inputs are zeros, targets lie where the losses want them.
COHORT_CORE_INLINE batch blank_batch(graph_view net, int count, element_type type) {
  batch made;
  made.count = count;
  made.global_count = count;
  auto const add = [&](std::vector<named_tensor>& to, shape const& example, element_type of) {
    to.push_back({.name = "blank", .example = example, .type = of});
    to.back().reserve(count);
    return static_cast<std::size_t>(example.elements()) * static_cast<std::size_t>(count);
  };
  for (int id : net.with_role(layer_role::input)) add(made.inputs, net[id].output, element_type::f32);
  for (int id : net.with_role(layer_role::loss)) {
    target_spec const wanted = net.kind(id).target(net.fields(id), net.input_shapes(id));
    if (wanted.classes > 0) {
      add(made.targets, {}, element_type::i32);
      continue;
    }
    std::size_t const elements = add(made.targets, wanted.values, type);
    constexpr double middle = 0.5;
    with_real(type, [&]<class T>(T*) {
      std::fill_n(reinterpret_cast<T*>(made.targets.back().memory.data()), elements,
                  static_cast<T>(wanted.between(middle)));
    });
  }
  return made;
}

/// A training's step, over and over, with parameters that nobody else has.
class calibration_run {
 public:
  calibration_run(backend_handle port, graph_view net, training_settings const& settings, int count)
      : data_(blank_batch(net, count, port.parameters->type())),
        workers_(std::move(port), settings, settings.deadline) {
    auto const made = workers_.plan_for({.examples = workers_.piece_of(count)});
    if (!made->sums().forward.empty()) workers_.synchronise(made->sums(), nullptr);
    update_.emplace(*workers_.port().parameters, settings.optimizer());
  }
  void operator()() {
    step_info const now{.step = step_++,
                        .examples = data_.count,
                        .weight = static_cast<double>(data_.count),
                        .expected = data_.count};
    workers_.step(data_, now, alone_, *update_);
  }

 private:
  batch data_;
  worker_group workers_;
  std::optional<parameter_update> update_;
  no_exchange alone_;
  std::int64_t step_ = 0;
};

}  // namespace cohort::detail

namespace cohort {

COHORT_CORE_INLINE std::size_t timing_autotuner::choose(std::string const& what,
                                                        std::span<std::string const> ways,
                                                        stopwatch const& seconds_of) {
  return decide(what, ways, seconds_of).way;
}

COHORT_CORE_INLINE void timing_autotuner::settle_workers(
    graph_view net, training_settings& settings, std::string const& machine,
    detail::backend_handle (*port)(graph_view, training_settings const&)) {
  int const processors = std::min(how_.processors > 0 ? how_.processors : usable_processors(),
                                  static_cast<int>(parameter_update::max_parts));
  struct counts {
    int workers, threads;
  };
  std::vector<counts> const ways{{processors, 1}, {1, processors}};
  std::vector<std::string> names;
  for (counts const& one : ways) names.push_back(text_of(one.workers, one.threads));
  decision taken;
  if (processors > 1)
    taken = decide(
        detail::text_of({machine, '\n', processors, " processors, network ", net.hash(), ", batch ",
                         how_.batch, ", ", detail::describe(settings)}),
        names, [&](std::size_t way) {
          training_settings trial = settings;
          trial.workers = ways[way].workers;
          trial.threads = ways[way].threads;
          trial.log = {};
          try {
            return detail::least_seconds(detail::calibration_run(port(net, trial), net, trial, how_.batch));
          } catch (memory_error const&) {
            return std::numeric_limits<double>::infinity();
          }
        });
  settings.workers = ways[taken.way].workers;
  settings.threads = ways[taken.way].threads;
  if (!settings.log) return;
  std::string text = "calibrated: " + names[taken.way];
  for (std::size_t way = 0; way < taken.seconds.size(); ++way)
    text += detail::text_of({way == 0 ? " (" : ", ", names[way], ' ',
                             detail::decimal_text(1e3 * taken.seconds[way], 2), " ms a step"});
  settings.log(text + (!taken.seconds.empty() ? ")" : processors > 1 ? " (as was measured before)" : ""));
}

COHORT_CORE_INLINE std::string timing_autotuner::text_of(int workers, int threads) {
  return detail::text_of({workers, workers == 1 ? " worker of " : " workers of ", threads,
                          threads == 1 ? " thread" : " threads"});
}

COHORT_CORE_INLINE timing_autotuner::decision timing_autotuner::decide(std::string const& what,
                                                                       std::span<std::string const> ways,
                                                                       stopwatch const& seconds_of) const {
  constexpr int rounds = 3;
  constexpr double worth_it = 0.97, long_enough = 1;
  detail::cached_file const file(how_.folder, "cohort choice 1", ".choice", what + '\n');
  std::string const kept = file.read();
  for (std::size_t way = 0; way < ways.size(); ++way)
    if (ways[way] == kept) return {way};
  decision taken{.seconds = std::vector<double>(ways.size(), std::numeric_limits<double>::infinity())};
  double all = 0;  // of what takes long, one round says enough
  for (int round = 0; round < rounds && all < long_enough; ++round)
    for (std::size_t way = 0; way < ways.size(); ++way) {
      double const seconds = seconds_of(way);
      taken.seconds[way] = std::min(taken.seconds[way], seconds);
      if (seconds < std::numeric_limits<double>::infinity()) all += seconds;
    }
  for (std::size_t way = 1; way < ways.size(); ++way)
    if (taken.seconds[way] < taken.seconds[taken.way] * (taken.way == 0 ? worth_it : 1)) taken.way = way;
  file.write(ways[taken.way]);
  return taken;
}

}  // namespace cohort
