// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/prediction/stateful_predictions.hpp>
#include <cohort/training/detail/predictor.hpp>
#include <cohort/training/detail/stateful_layers.hpp>
#include <cohort/training/detail/training_state.hpp>
#include <string>
#include <utility>

namespace cohort {

struct stateful_predictions::stream {
  /// The network for a fixed number of steps, with its plan and context.
  struct stepper {
    int steps;
    graph net;
    std::shared_ptr<plan const> made;
    std::unique_ptr<plan_context> context;
  };

  detail::training_state& model;
  int sequences;
  int output;
  graph one_step;
  std::vector<char> varies;  // for each input, whether the input has steps
  detail::layer_states states;
  std::vector<std::unique_ptr<stepper>> steppers{};  // the most recently used stepper is the last one

  stream(detail::training_state& of, int count)
      : model(of),
        sequences(count),
        output(graph_view(of.net).outputs()[0]),
        one_step(detail::stepwise_network(of.net, output, 1)),
        varies(detail::extents_with_steps(of.net, output).inputs),
        states(detail::stateful_layers(one_step), count, bytes_of(of.element())) {}

  detail::backend_handle const& backend() const { return model.inference_backend(); }
  std::vector<int> inputs() const { return one_step.view().with_role(layer_role::input); }
  /// Returns the inputs, with the extent k = 1 added to inputs without it.
  std::vector<tensor_view> with_steps(std::span<tensor_view const> given) const {
    std::vector<int> const ids = inputs();
    std::vector<tensor_view> made(given.begin(), given.end());
    for (std::size_t i = 0; i < std::min(made.size(), ids.size()); ++i) {
      if (varies[i] == 0) continue;
      shape const one = one_step.view()[ids[i]].output;
      shape short_form = one;
      short_form[0] = sequences;  // sequences × C, or sequences
      if (made[i].dims == short_form) made[i].dims = one.batched(sequences);
    }
    return made;
  }

  /// Number of steps of the inputs. Errors: shape_error if the inputs do not match the network.
  int checked_steps(std::span<tensor_view const> given, std::span<tensor_view const> masks) const {
    graph_view const net = one_step;
    std::vector<int> const ids = inputs();
    if (given.size() != ids.size())
      throw shape_error({.what = "advance got the wrong number of inputs",
                         .expected = {ids.size(), ", one for each input of the network"},
                         .got = {given.size()}});
    int steps = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      shape wanted = net[ids[i]].output;
      shape const& dims = given[i].dims;
      if (varies[i] != 0 && dims.rank == wanted.rank + 1) {
        if (steps == 0) steps = dims[1];
        wanted[0] = steps;
      }
      if (!(dims == wanted.batched(sequences)) || (varies[i] != 0 && steps < 1)) {
        std::string expected = std::to_string(sequences) + 'x' + to_string(net[ids[i]].output);
        if (varies[i] != 0)
          expected = std::to_string(sequences) + "xk"
                     + (wanted.rank == 2 ? 'x' + std::to_string(wanted[1]) : "")
                     + ", with k steps, equal for all inputs";
        throw shape_error({.what = "an input of advance has the wrong shape",
                           .where = net.name(ids[i]),
                           .expected = expected,
                           .got = to_string(dims)});
      }
      bool const indices = net.is_indices(ids[i]);
      if (given[i].type != element_type::f32 && given[i].type != model.element()
          && !(indices && given[i].type == element_type::i32))
        throw shape_error({.what = "an input of advance has the wrong element type",
                           .where = net.name(ids[i]),
                           .expected = indices ? "i32 or f32: indices" : "f32",
                           .got = {name_of(given[i].type)}});
    }
    std::size_t const masked = net.masks().size();
    if (!masks.empty() && masks.size() != masked)
      throw shape_error({.what = "advance got the wrong number of masks",
                         .expected = {masked, ", one for each masked input of the network"},
                         .got = {masks.size()}});
    for (tensor_view const& one : masks)
      if (one.type != element_type::u8 || !(one.dims == shape{sequences, steps}))
        throw shape_error({.what = "a mask of advance has the wrong shape or element type",
                           .expected = {to_string(shape{sequences, steps}), " x u8"},
                           .got = {to_string(one.dims), " x ", name_of(one.type)}});
    return steps;
  }

  stepper& stepper_of(int steps) {
    auto const found =
        std::find_if(steppers.begin(), steppers.end(), [&](auto const& one) { return one->steps == steps; });
    if (found != steppers.end()) {
      std::rotate(found, found + 1, steppers.end());
      return *steppers.back();
    }
    if (steppers.size() == max_plans) steppers.erase(steppers.begin());
    auto made =
        std::make_unique<stepper>(stepper{steps, detail::stepwise_network(model.net, output, steps), {}, {}});
    made->made = backend().make_plan_of(
        made->net,
        {.batch = sequences, .training = false, .max_bytes = model.settings.max_bytes, .outputs = {output}});
    made->context = made->made->make_context(nullptr, nullptr);
    return *steppers.emplace_back(std::move(made));
  }

  predictions advance(std::span<tensor_view const> given, std::span<tensor_view const> masks) {
    std::vector<tensor_view> const inputs = with_steps(given);
    int const steps = checked_steps(inputs, masks);
    model.finish_late();
    detail::threads_scope const threads(backend(), model.settings.threads);
    stepper& now = stepper_of(steps);
    backend().parameters->refresh_stale();
    detail::rescaled_parts copies;
    std::vector<tensor_view> const rescaled = copies.of(inputs, model.preparation.rescaling.inputs);
    now.context->forward({.inputs = rescaled, .masks = masks, .states = &states});
    states.advance();
    std::vector<predictions> made(1);
    made[0].example = now.made->outputs()[0];
    detail::append(now.context->output(0), made[0].values);
    if (!model.preparation.rescaling.targets.empty()) model.rescale_back({&output, 1}, made);
    return std::move(made[0]);
  }
};

stateful_predictions::stateful_predictions(training const& model, int sequences) {
  if (sequences < 1)
    throw setting_error({.what = "the number of sequences of stateful_predictions is not positive",
                         .expected = "at least 1",
                         .got = {sequences}});
  stream_ = std::make_unique<stream>(model.state(), sequences);
}

stateful_predictions::~stateful_predictions() = default;
stateful_predictions::stateful_predictions(stateful_predictions&&) noexcept = default;
stateful_predictions& stateful_predictions::operator=(stateful_predictions&&) noexcept = default;

int stateful_predictions::sequences() const { return stream_->sequences; }

int stateful_predictions::plans() const { return static_cast<int>(stream_->steppers.size()); }

predictions stateful_predictions::advance(std::span<tensor_view const> inputs) {
  return stream_->advance(inputs, {});
}

predictions stateful_predictions::advance(batch_view const& data) {
  return stream_->advance(data.inputs, data.masks);
}

void stateful_predictions::reset() { stream_->states.clear(); }

void stateful_predictions::reset(int sequence) {
  if (sequence < 0 || sequence >= stream_->sequences)
    throw setting_error({.what = "there is no such sequence",
                         .where = "reset",
                         .expected = {"a number below ", stream_->sequences},
                         .got = {sequence}});
  stream_->states.clear(sequence);
}

}  // namespace cohort
