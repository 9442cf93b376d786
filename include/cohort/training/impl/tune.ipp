// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/detail/text_table.hpp>
#include <cohort/execution/usable_processors.hpp>
#include <cohort/io/detail/cached_file.hpp>
#include <cohort/plan/detail/step_masks.hpp>
#include <cohort/strategy/strategy.hpp>
#include <cohort/training/detail/worker_group.hpp>
#include <cohort/training/tune.hpp>
#include <limits>
#include <optional>

namespace cohort::detail {

/// Returns a batch with inputs of zeros (ones if 0 marks padding) and targets in the range that the losses
/// accept. All steps are unmasked.
batch blank_batch(graph_view net, int count, element_type type) {
  batch made;
  made.count = count;
  made.global_count = count;
  auto const add = [&](std::vector<named_tensor>& to, shape const& example, element_type of) {
    to.push_back({.name = "blank", .example = example, .type = of});
    to.back().reserve(count);
    return static_cast<std::size_t>(example.elements()) * static_cast<std::size_t>(count);
  };
  for (int id : net.with_role(layer_role::input)) {
    std::size_t const elements = add(made.inputs, net[id].output, element_type::f32);
    for (mask_source const& one : masks_of(net).all)
      if (one.input == static_cast<int>(made.inputs.size()) - 1 && one.padding == 0)
        std::fill_n(reinterpret_cast<float*>(made.inputs.back().memory.data()), elements, 1.0F);
  }
  for (int id : net.with_role(layer_role::loss)) {
    target_spec const wanted = net.target(id);
    if (wanted.classes > 0) {
      add(made.targets, wanted.index_shape(), element_type::i32);
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

/// Runs one training step per call, on separate parameters.
class calibration_run {
 public:
  calibration_run(backend_handle backend, graph_view net, training_settings const& settings, int count)
      : data_(blank_batch(net, count, backend.parameters->type())),
        workers_(std::move(backend), settings, settings.deadline) {
    auto const made = workers_.plan_for({.examples = workers_.micro_batch_size(count)});
    if (!made->sums().forward.empty()) workers_.synchronise(made->sums(), nullptr);
    update_.emplace(*workers_.backend().parameters, settings.optimizer);
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

std::size_t timing_autotuner::choose(std::string const& what, std::span<std::string const> variants,
                                     stopwatch const& seconds_of) {
  return decide(what, variants, seconds_of).choice;
}

void timing_autotuner::choose_workers(graph_view net, training_settings& settings, std::string const& machine,
                                      detail::backend_handle (*make_backend)(graph_view,
                                                                             training_settings const&)) {
  int const processors = std::min(how_.processors > 0 ? how_.processors : usable_processors(),
                                  static_cast<int>(parameter_update::max_parts));
  struct counts {
    int workers, threads;
  };
  std::vector<counts> const variants{{processors, 1}, {1, processors}};
  std::vector<std::string> names;
  for (counts const& one : variants) names.push_back(text_of(one.workers, one.threads));
  decision chosen;
  if (processors > 1)
    chosen = decide(detail::text_of({machine, '\n', processors, " processors, network ", net.hash(),
                                     ", batch ", how_.batch, ", ", detail::describe(settings)}),
                    names, [&](std::size_t v) {
                      training_settings trial = settings;
                      trial.workers = variants[v].workers;
                      trial.threads = variants[v].threads;
                      trial.log = {};
                      try {
                        return detail::least_seconds(
                            detail::calibration_run(make_backend(net, trial), net, trial, how_.batch));
                      } catch (memory_error const&) {
                        return std::numeric_limits<double>::infinity();
                      }
                    });
  settings.workers = variants[chosen.choice].workers;
  settings.threads = variants[chosen.choice].threads;
  if (!settings.log) return;
  std::string text = "calibrated: " + names[chosen.choice];
  for (std::size_t v = 0; v < chosen.seconds.size(); ++v)
    text += detail::text_of({v == 0 ? " (" : ", ", names[v], ' ',
                             detail::decimal_text(1e3 * chosen.seconds[v], 2), " ms a step"});
  settings.log(text + (!chosen.seconds.empty() ? ")" : processors > 1 ? " (cached)" : ""));
}

std::string timing_autotuner::text_of(int workers, int threads) {
  return detail::text_of({workers, workers == 1 ? " worker of " : " workers of ", threads,
                          threads == 1 ? " thread" : " threads"});
}

timing_autotuner::decision timing_autotuner::decide(std::string const& what,
                                                    std::span<std::string const> variants,
                                                    stopwatch const& seconds_of) const {
  constexpr int rounds = 3;
  constexpr double worth_it = 0.97, long_enough = 1;
  detail::cached_file const file(how_.folder, "cohort choice 1", ".choice", what + '\n');
  std::string const cached = file.read();
  for (std::size_t v = 0; v < variants.size(); ++v)
    if (variants[v] == cached) return {v};
  decision chosen{.seconds = std::vector<double>(variants.size(), std::numeric_limits<double>::infinity())};
  double all = 0;  // in seconds; one round of a slow variant is precise enough
  for (int round = 0; round < rounds && all < long_enough; ++round)
    for (std::size_t v = 0; v < variants.size(); ++v) {
      double const seconds = seconds_of(v);
      chosen.seconds[v] = std::min(chosen.seconds[v], seconds);
      if (seconds < std::numeric_limits<double>::infinity()) all += seconds;
    }
  for (std::size_t v = 1; v < variants.size(); ++v)
    if (chosen.seconds[v] < chosen.seconds[chosen.choice] * (chosen.choice == 0 ? worth_it : 1))
      chosen.choice = v;
  file.write(variants[chosen.choice]);
  return chosen;
}

}  // namespace cohort
