// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cohort/detail/text.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/graph/summary.hpp>
#include <cohort/monitoring/tensorboard_listener.hpp>
#include <cohort/tensor/finite.hpp>
#include <cohort/training/detail/settings_fields.hpp>
#include <cohort/training/detail/training_state.hpp>
#include <cohort/training/training.hpp>
#include <span>
#include <utility>

namespace cohort::detail {

std::string code_block(std::string const& text) {
  return text_of({"```\n", text, text.ends_with('\n') ? "" : "\n", "```\n"});
}

/// Returns batch, ranks, parameters, strategy and backend of a run, then its settings, named by their paths.
/// `examples`: examples of rank 0's first step, used as the batch size if the step is not a step of fit.
std::vector<io::hyperparameter> hyperparameters_of(training& run, int examples) {
  int const batch = run.state().batch_of_fit();
  std::vector<io::hyperparameter> all{
      {"batch_per_rank", static_cast<double>(batch > 0 ? batch : examples)},
      {"ranks", static_cast<double>(run.world().size())},
      {"parameters", static_cast<double>(graph_view(run.network()).parameter_count())},
      {"strategy", run.state().exchange_strategy->describe()},
      {"backend", run.backend()}};
  for (field_text& field : list_fields(run.settings())) {
    all.push_back({std::move(field.path), std::move(field.value)});
    if (field.number) all.back().value = *field.number;
  }
  return all;
}

}  // namespace cohort::detail

namespace cohort {

tensorboard_listener::tensorboard_listener(std::string folder, tensorboard_settings settings)
    : folder_(std::move(folder)), settings_(std::move(settings)) {
  constexpr std::int64_t automatic = tensorboard_settings::automatic;
  if ((settings_.every < 1 && settings_.every != automatic)
      || (settings_.histograms_every < 0 && settings_.histograms_every != automatic))
    throw setting_error({.what = "invalid interval",
                         .where = "tensorboard_listener",
                         .expected = "every ≥ 1 step or automatic, histograms_every ≥ 0 or automatic",
                         .got = {settings_.every, " and ", settings_.histograms_every}});
  for (io::hyperparameter const& one : settings_.hyperparameters)
    if (!detail::has_finite_value(one))
      throw setting_error({.what = "a hyperparameter is not finite",
                           .where = {"tensorboard_listener, ", one.name},
                           .expected = "a finite number",
                           .got = {std::get<double>(one.value)}});
  if (!settings_.lines) settings_.lines = silent_sink();
}

tensorboard_listener::~tensorboard_listener() = default;

template <class F>
void tensorboard_listener::attempt(F const& write) {
  if (!last_error_.empty()) return;
  try {
    write();
  } catch (file_error const& error) {
    last_error_ = error.what();
    file_.reset();
    settings_.lines("tensorboard_listener: " + last_error_);
  }
}

void tensorboard_listener::on_step(training& run, step_report const& done) {
  if (run.world().rank() != 0 || !last_error_.empty()) return;
  epoch_of_point_ = -1;
  attempt([&] {
    bool const is_first = !file_;
    if (is_first) begin(run, done);
    ++steps_;
    examples_ += done.examples;
    loss_.add(done);
    step_seconds_ += done.step_seconds;
    wait_seconds_ += done.wait_seconds;
    exchange_seconds_ += done.exchange_seconds;
    if (!is_first) {  // the first step also sends the parameters
      bytes_sent_ += done.bytes_sent;
      ++steps_of_bytes_;
    }
    bool const writes = has_point(done);
    if (writes) write_scalars(run, done);
    if (has_histograms(done, 0) && run.parameters().is_whole()) write_parameters(run, done);
    if (has_histograms(done, 1) && run.parameters().is_whole())
      before_ = detail::dense_parameters(run.parameters(), done.step + 1);
    if (writes) file_->flush();
  });
}

bool tensorboard_listener::has_point(step_report const& done) const {
  std::int64_t const step = done.step + 1, every = settings_.every;
  if (every != tensorboard_settings::automatic) return step % every == 0;
  constexpr std::array<std::int64_t, 6> first{1, 2, 5, 10, 20, 50};
  return step % 100 == 0 || std::ranges::find(first, step - first_step_) != first.end()
         || done.step_in_epoch + 1 == done.steps_in_epoch;
}

bool tensorboard_listener::has_histograms(step_report const& done, std::int64_t later) const {
  std::int64_t const step = done.step + 1 + later, every = settings_.histograms_every;
  if (every != tensorboard_settings::automatic) return every > 0 && step % every == 0;
  bool const ends_first_epoch =
      done.epoch == first_epoch_ && done.step_in_epoch + 1 + later == done.steps_in_epoch;
  bool const is_first = done.steps_in_epoch < 0 ? step - first_step_ == 100 : ends_first_epoch;
  return is_first || step % 1000 == 0;
}

void tensorboard_listener::begin(training& run, step_report const& done) {
  file_ = std::make_unique<io::event_file>(folder_);
  first_step_ = done.step;
  first_epoch_ = done.epoch;
  hyperparameters_ = detail::hyperparameters_of(run, done.examples);
  for (io::hyperparameter const& one : settings_.hyperparameters) {
    auto const same = std::ranges::find(hyperparameters_, one.name, &io::hyperparameter::name);
    if (same == hyperparameters_.end())
      hyperparameters_.push_back(one);
    else
      *same = one;
  }
  file_->text("network", done.step, detail::code_block(summary(run.network())));
  file_->text("settings", done.step, detail::code_block(detail::describe(run.settings())));
  file_->begin_run(hyperparameters_);
  file_->flush();
}

void tensorboard_listener::write_scalars(training& run, step_report const& done) {
  std::int64_t const step = done.step + 1;
  auto const steps = static_cast<double>(steps_);
  double const seconds = step_seconds_ + wait_seconds_;
  if (auto const loss = loss_.value()) file_->scalar("train/loss", step, *loss);
  file_->scalar("train/learning_rate", step, run.state().learning_rate(done.step, done.epoch));
  if (seconds > 0)
    file_->scalar("speed/samples_per_second", step, static_cast<double>(examples_) * done.ranks / seconds);
  file_->scalar("speed/step_ms", step, 1e3 * step_seconds_ / steps);
  file_->scalar("speed/wait_for_data_ms", step, 1e3 * wait_seconds_ / steps);
  if (done.ranks > 1) {
    file_->scalar("exchange/wait_ms", step, 1e3 * exchange_seconds_ / steps);
    if (steps_of_bytes_ > 0)
      file_->scalar("exchange/bytes_per_step", step,
                    static_cast<double>(bytes_sent_) / static_cast<double>(steps_of_bytes_));
    for (measurement const& one : run.exchange_report())
      if (!one.is_sum) file_->scalar("exchange/" + std::string(one.name), step, one.value);
  }
  bytes_sent_ = 0;
  steps_of_bytes_ = 0;
  steps_ = examples_ = 0;
  loss_ = {};
  step_seconds_ = wait_seconds_ = exchange_seconds_ = 0;
}

void tensorboard_listener::write_parameters(training& run, step_report const& done) {
  std::int64_t const step = done.step + 1;
  detail::dense_parameters const now(run.parameters(), step);
  bool const has_update = before_.step() == step - 1;
  for (parameter const& one : run.parameters().table()) {
    if (!one.trains()) continue;
    now.visit(one, [&](auto numbers) {
      file_->histogram("parameters/" + one.name, step, io::histogram_of(numbers));
    });
    if (done.updated && !run.state().exchange_strategy->shard_ranks()) {
      std::vector<double> const gradient = run.last_gradient(one.name);
      file_->histogram("gradients/" + one.name, step, io::histogram_of(std::span(gradient)));
    }
    if (!has_update || !done.updated) continue;
    std::vector<double> const update = now.change_of(one, before_);
    file_->histogram("updates/" + one.name, step, io::histogram_of(std::span(update)));
    if (double const norm = before_.norm_of(one); norm > 0)
      file_->scalar("update_ratio/" + one.name, step, detail::euclidean_norm(std::span(update)) / norm);
  }
  write_filters(run, now);
  file_->flush();
}

/// Writes an image of the first convolution's filters: a nearly square grid with margins of one pixel. The
/// weights' range is mapped to 0 … 255. Filters of 3 channels are shown in colour; for other filters, the
/// first channel is shown in grey.
void tensorboard_listener::write_filters(training& run, detail::dense_parameters const& now) {
  graph_view const net = run.network();
  parameter_set const& all = run.parameters();
  auto const found = std::ranges::find_if(all.table(), [&](parameter const& one) {
    return net.kind(one.node).name == std::string_view("conv2d") && one.spec.role == parameter_role::weights;
  });
  if (found == all.table().end() || found->spec.dims.rank != 4) return;
  shape const& dims = found->spec.dims;  // filters × channels × height × width
  int const channels = dims[1] == 3 ? 3 : 1;
  int const columns = static_cast<int>(std::ceil(std::sqrt(dims[0])));
  int const rows = (dims[0] + columns - 1) / columns;
  int const height = rows * (dims[2] + 1) + 1, width = columns * (dims[3] + 1) + 1;
  if (std::int64_t{height} * width > std::int64_t{1} << 20) return;
  std::vector<double> const weights =
      now.visit(*found, [](auto numbers) { return std::vector<double>(numbers.begin(), numbers.end()); });
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(height) * static_cast<std::size_t>(width)
                                   * static_cast<std::size_t>(channels));
  auto const [low, high] = std::ranges::minmax(weights);
  double const range = high > low ? high - low : 1;
  for (int k = 0; k < dims[0]; ++k)
    for (int c = 0; c < channels; ++c)
      for (int y = 0; y < dims[2]; ++y)
        for (int x = 0; x < dims[3]; ++x) {
          double const weight =
              weights[static_cast<std::size_t>(((k * dims[1] + c) * dims[2] + y) * dims[3] + x)];
          double const grey = 255 * (weight - low) / range;
          int const row = k / columns * (dims[2] + 1) + 1 + y, column = k % columns * (dims[3] + 1) + 1 + x;
          pixels[static_cast<std::size_t>((row * width + column) * channels + c)] =
              static_cast<std::uint8_t>(is_finite(grey) ? std::clamp(grey, 0.0, 255.0) : 0);
        }
  file_->image("filters/" + found->name, now.step(), height, width, channels, pixels);
}

void tensorboard_listener::on_epoch(training& run, epoch_report const& done) {
  if (run.world().rank() != 0) return;
  attempt([&] {
    if (!file_ || std::exchange(epoch_of_point_, done.epoch) == done.epoch) return;
    constexpr std::string_view prefix = "validation ";
    scalar("epoch/loss", run.step(), done.loss);
    for (metric_value const& one : done.validation) {
      bool const is_loss = one.name.starts_with(prefix);
      scalar("validation/" + (is_loss ? one.name.substr(prefix.size()) : one.name), run.step(), one.value);
    }
    if (!file_) return;  // scalar has failed
    if (!std::exchange(has_compared_, true)) file_->compare_runs(hyperparameters_, compared_);
    file_->flush();
  });
}

void tensorboard_listener::scalar(std::string_view tag, std::int64_t step, double value) {
  attempt([&] {
    if (!file_) return;
    file_->scalar(tag, step, value);
    if (!has_compared_ && std::ranges::find(compared_, tag) == compared_.end()) compared_.emplace_back(tag);
  });
}

void tensorboard_listener::on_end(training& run) {
  if (run.world().rank() != 0) return;
  attempt([&] {
    if (!file_) return;
    file_->end_run();
    file_->flush();
  });
}

}  // namespace cohort
