// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cohort/error/exceptions.hpp>
#include <cohort/graph/named_layers.hpp>
#include <cohort/optimizer/gradient_normalisation.hpp>
#include <cohort/plan/detail/arena_sums.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cohort/tensor/finite.hpp>
#include <cohort/training/detail/carried_states.hpp>
#include <cohort/training/detail/mean_loss.hpp>
#include <cohort/training/detail/named_parameters.hpp>
#include <cohort/training/detail/step_runner.hpp>
#include <cohort/training/training.hpp>
#include <cohort/training/training_loop.hpp>
#include <cstring>
#include <string>
#include <vector>

namespace cohort {

namespace detail {

/// Copies of the workers' parts of some tensors, as tensors of the whole batch.
class gathered_tensors {
 public:
  std::span<tensor_view const> views() const { return views_; }
  /// Makes the list empty.
  void clear() { views_.clear(); }
  /// Begins with `count` rows of tensors of these shapes. The views are valid until the next call.
  void resize(std::span<shape const> examples, int count, element_type type) {
    memory_.resize(std::max(memory_.size(), examples.size()));
    views_.clear();
    for (std::size_t i = 0; i < examples.size(); ++i) {
      shape const dims = examples[i].batched(count);
      memory_[i].resize(static_cast<std::size_t>(dims.elements()) * bytes_of(type));
      views_.push_back({memory_[i].data(), type, dims});
    }
  }
  /// Copies rows of tensor `which` to the rows from `first` on. Multiplies them by `factor`.
  void write(std::size_t which, std::int64_t first, tensor_view rows, double factor = 1) {
    tensor_view const to = views_[which].rows(static_cast<int>(first), rows.dims[0]);
    std::byte* const copy = memory_[which].data() + (to.data - views_[which].data);
    if (rows.bytes() > 0) std::memcpy(copy, rows.data, rows.bytes());
    if (factor == 1) return;
    auto const scale = [&]<class T>(T* all) {
      for (std::int64_t i = 0; i < rows.dims.elements(); ++i)
        all[i] = static_cast<T>(static_cast<double>(all[i]) * factor);
    };
    if (rows.type == element_type::f64)
      scale(reinterpret_cast<double*>(copy));
    else
      scale(reinterpret_cast<float*>(copy));
  }

 private:
  std::vector<reusable_buffer> memory_;
  std::vector<tensor_view> views_;
};

/// Implements training_loop, and holds the state of a step between its parts.
class step_in_parts {
 public:
  step_in_parts(training_state& state, loop_settings const& settings);

  void forward(batch_view data);
  double loss() const { return losses_.empty() ? 0 : mean_of_losses(part_loss_, part_.weight); }
  std::span<tensor_view const> outputs() const { return outputs_.views(); }
  void backward(std::span<tensor_view const> output_gradients);
  std::span<tensor_view const> input_gradients() const { return input_gradients_.views(); }
  void discard();
  std::span<std::byte> gradients(element_type type);
  std::span<std::byte> gradient(element_type type, std::string_view name);
  double clip_norm(double max);
  step_report step();

 private:
  enum class phase { idle, forwarded, backwarded, exchanged };

  /// Errors    setting_error unless the phase is from `least` to `most`, and no other call has used the
  ///           workers since forward.
  void require(char const* call, phase least, phase most);
  void exchange(char const* call);
  void write_viewed();
  void check_output_gradients(std::span<tensor_view const> given) const;
  std::vector<shape> shapes_of(std::vector<int> const& nodes) const {
    std::vector<shape> all;
    for (int id : nodes) all.push_back(graph_view(state_.net)[id].output);
    return all;
  }
  double weight_of(batch_view const& data) const {
    return losses_.empty() ? data.weight() : state_.weight_of(data);
  }

  training_state& state_;
  step_runner runner_;
  work_kind kind_{};
  std::vector<int> losses_;  // nodes: the losses that the loop computes
  std::vector<int> kept_;    // nodes: the outputs that are not losses
  gathered_tensors outputs_, input_gradients_;
  phase phase_ = phase::idle;
  std::int64_t job_ = 0;      // worker_group::job of this step
  step_info part_{}, now_{};  // part_: of the last forward; now_: of all backward calls
  double part_loss_ = 0, loss_ = 0;
  int part_without_weight_ = 0, without_weight_ = 0;  // number of examples
  step_start begin_{};
  buffer dense_{};       // the gradient in canonical order
  bool viewed_ = false;  // whether dense_ holds the step's gradient, which the caller may change
};

step_in_parts::step_in_parts(training_state& state, loop_settings const& settings)
    : state_(state), runner_(state) {
  graph_view const net = state.net;
  std::vector<int> const all_losses = net.with_role(layer_role::loss);
  kind_.layers = named_layers(net, settings.outputs);
  kind_.output_gradients = !kind_.layers.empty() || all_losses.empty();
  kind_.input_gradients = settings.input_gradients;
  for (int id : kind_.layers.empty() ? net.outputs() : kind_.layers) {
    if (net.kind(id).role == layer_role::loss)
      losses_.push_back(id);
    else if (kind_.output_gradients)
      kept_.push_back(id);
  }
  std::ranges::sort(losses_);
  if (!losses_.empty() && losses_ != all_losses)
    throw setting_error({.what = "the outputs of a training_loop contain some of the network's losses",
                         .where = "loop_settings::outputs",
                         .expected = {"all ", all_losses.size(), " losses of the network, or none"},
                         .got = {losses_.size()}});
}

void step_in_parts::require(char const* call, phase least, phase most) {
  constexpr char const* done[]{"no forward", "forward", "backward", "the exchange of gradients"};
  if (phase_ != phase::idle && job_ != state_.workers->job()) {
    phase_ = phase::idle;
    throw setting_error({.what = "the run was used for something else within a step of a training_loop",
                         .where = {"training_loop::", call},
                         .expected = "no other step and no evaluation between forward and step",
                         .got = "a step or an evaluation"});
  }
  if (phase_ < least || phase_ > most)
    throw setting_error({.what = "a call of a training_loop is out of order",
                         .where = {"training_loop::", call},
                         .expected = "forward, backward, again for further micro-batches, then step",
                         .got = {call, " after ", done[static_cast<int>(phase_)]}});
}

void step_in_parts::forward(batch_view data) {
  require("forward", phase::idle, phase::backwarded);
  refuse_states(state_, "training_loop");
  runner_.check_ranks_once("training_loop");
  runner_.check(data, losses_);
  bool const sums = !runner_.prepare(data.count, kind_)->sums().forward.empty();
  step_info const part = runner_.info_of(data, weight_of(data));
  phase const before = std::exchange(phase_, phase::idle);
  if (before == phase::idle) {
    begin_ = runner_.start();
    now_ = {.step = part.step, .epoch = part.epoch};
    loss_ = 0;
    without_weight_ = 0;
    viewed_ = false;
    state_.world->note({now_.step, -1});
    parameter_update& update = state_.update();
    runner_.run_part([&] { state_.workers->begin_step(kind_, part, *state_.exchange_strategy, update); });
  }
  part_ = part;
  part_without_weight_ = step_runner::without_weight(data);
  part_loss_ = runner_.run_part(
      [&] { return state_.workers->forward(data, sums ? state_.workers->rounds(0, 1) : 0); });
  outputs_.resize(shapes_of(kept_), data.count, state_.element());
  state_.workers->each_part([&](std::int64_t first, plan_context const& done) {
    for (std::size_t i = 0; i < kept_.size(); ++i) outputs_.write(i, first, done.output(static_cast<int>(i)));
  });
  job_ = state_.workers->job();
  phase_ = phase::forwarded;
}

void step_in_parts::check_output_gradients(std::span<tensor_view const> given) const {
  graph_view const net = state_.net;
  if (given.size() != kept_.size()) {
    std::string names;
    for (int id : kept_) names += (names.empty() ? ": " : ", ") + net.name(id);
    throw shape_error(
        {.what = "backward got the wrong number of gradients of outputs",
         .where = "training_loop::backward",
         .expected = {kept_.size(), ", one for each output of the loop that is not a loss", names},
         .got = {given.size()}});
  }
  for (std::size_t i = 0; i < given.size(); ++i)
    if (shape const wanted = outputs()[i].dims;
        given[i].dims != wanted || (given[i].type != element_type::f32 && given[i].type != state_.element()))
      throw shape_error(
          {.what = "the gradient of an output has another shape or element type than the output",
           .where = {"training_loop::backward, ", net.name(kept_[i])},
           .expected = {to_string(wanted), ", ", name_of(state_.element())},
           .got = {to_string(given[i].dims), ", ", name_of(given[i].type)}});
}

void step_in_parts::backward(std::span<tensor_view const> output_gradients) {
  require("backward", phase::forwarded, phase::forwarded);
  check_output_gradients(output_gradients);
  phase_ = phase::idle;
  runner_.run_part([&] { state_.workers->backward(part_.weight, output_gradients); });
  now_.examples += part_.examples;
  now_.weight += part_.weight;
  now_.expected += part_.expected;
  loss_ += part_loss_;
  without_weight_ += part_without_weight_;
  if (kind_.input_gradients) {
    std::vector<int> const inputs = graph_view(state_.net).with_role(layer_role::input);
    input_gradients_.resize(shapes_of(inputs), part_.examples, state_.element());
    double const share = now_.weight > 0 ? part_.weight / now_.weight : 0;  // of the last forward in the step
    double const factor = !is_finite(part_loss_) ? NAN : share > 0 ? 1 / share : 0;
    state_.workers->each_part([&](std::int64_t first, plan_context const& done) {
      for (std::size_t i = 0; i < inputs.size(); ++i)
        input_gradients_.write(i, first, done.input_gradient(static_cast<int>(i)), factor);
    });
  }
  phase_ = phase::backwarded;
}

void step_in_parts::discard() {
  require("discard", phase::idle, phase::backwarded);
  phase_ = phase::idle;
}

void step_in_parts::exchange(char const* call) {
  require(call, phase::backwarded, phase::exchanged);
  if (phase_ == phase::exchanged) return;
  phase_ = phase::idle;
  now_.mine = state_.voting.requested();
  runner_.run_part([&] { state_.workers->exchange(now_, state_.world->size() == 1); });
  phase_ = phase::exchanged;
}

std::span<std::byte> step_in_parts::gradients(element_type type) {
  parameter_set const& all = *state_.workers->backend().parameters;
  if (type != all.type())
    throw setting_error({.what = "the gradients have another element type",
                         .where = "training_loop::gradients",
                         .expected = {name_of(all.type())},
                         .got = {name_of(type)}});
  exchange("gradients");
  if (dense_.bytes() == 0) dense_ = buffer(static_cast<std::size_t>(all.elements()) * bytes_of(type));
  if (!viewed_) all.read_all(state_.workers->gradients().first(), dense_.data());
  viewed_ = true;
  return {dense_.data(), dense_.bytes()};
}

std::span<std::byte> step_in_parts::gradient(element_type type, std::string_view name) {
  std::span<std::byte> const all = gradients(type);
  parameter_set const& parameters = *state_.workers->backend().parameters;
  parameter_range const which = parameters_named(parameters, name, "training_loop::gradient");
  parameter const& last = parameters.table()[static_cast<std::size_t>(which.last - 1)];
  std::int64_t const first = parameters.table()[static_cast<std::size_t>(which.first)].first;
  std::int64_t const count = last.first + last.spec.dims.elements() - first;
  std::size_t const width = bytes_of(type);
  return all.subspan(static_cast<std::size_t>(first) * width, static_cast<std::size_t>(count) * width);
}

void step_in_parts::write_viewed() {
  if (viewed_)
    state_.workers->backend().parameters->write_all(dense_.data(), state_.workers->gradients().first());
}

double step_in_parts::clip_norm(double max) {
  if (!(max > 0) || !is_finite(max))
    throw setting_error({.what = "invalid bound of a gradient's norm",
                         .where = "training_loop::clip_norm",
                         .expected = "a finite number above 0",
                         .got = {max}});
  exchange("clip_norm");
  write_viewed();
  parameter_set& all = *state_.workers->backend().parameters;
  arena_passes& passes = all.passes();
  std::byte* const gradient = state_.workers->gradients().first();
  arena_sums squares(all);
  squares.measure(0, 1, [&](std::size_t, std::size_t begin, std::size_t n, double* sums) {
    passes.square_sums({&gradient, 1}, begin, n, sums);
  });
  double const norm = std::sqrt(squares.of_all());
  double const factor = gradient_normalisation(normalise::clip_global_norm{max}).factor(norm);
  if (factor != 1 && is_finite(norm)) {
    for (parameter const& one : all.table())
      if (one.trains()) passes.scale(gradient + one.offset * bytes_of(all.type()), one.room, factor);
    passes.wait();
    if (viewed_) all.read_all(gradient, dense_.data());
  }
  return norm;
}

step_report step_in_parts::step() {
  exchange("step");
  phase_ = phase::idle;
  write_viewed();
  step_outcome done = runner_.run_part([&] { return state_.workers->end_step(viewed_); });
  done.loss = loss_;
  done.has_loss = !losses_.empty();
  return runner_.finish(runner_.result_of(done, now_, begin_, without_weight_));
}

}  // namespace detail

training_loop::training_loop(training& run, loop_settings const& settings)
    : now_(std::make_unique<detail::step_in_parts>(run.state(), settings)) {}

training_loop::training_loop(training_loop&&) noexcept = default;
training_loop& training_loop::operator=(training_loop&&) noexcept = default;
training_loop::~training_loop() = default;

void training_loop::forward(batch_view const& data) { now_->forward(data); }
double training_loop::loss() const { return now_->loss(); }
std::span<tensor_view const> training_loop::outputs() const { return now_->outputs(); }
void training_loop::backward(std::span<tensor_view const> output_gradients) {
  now_->backward(output_gradients);
}
std::span<tensor_view const> training_loop::input_gradients() const { return now_->input_gradients(); }
void training_loop::discard() { now_->discard(); }
double training_loop::clip_norm(double max) { return now_->clip_norm(max); }
step_report training_loop::step() { return now_->step(); }

std::span<std::byte> training_loop::bytes_of_gradients(element_type type) { return now_->gradients(type); }

std::span<std::byte> training_loop::bytes_of_gradient(element_type type, std::string_view name) {
  return now_->gradient(type, name);
}

}  // namespace cohort
