// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/graph/graph.hpp>
#include <cohort/plan/detail/loss_divisor.hpp>
#include <cohort/plan/make_plan.hpp>
#include <cohort/plan/parameter_store.hpp>
#include <cohort/random/stream.hpp>
#include <cohort/training/own_backend.hpp>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

/// Random inputs and targets of a network: the same numbers for every T, all representable as float.
template <class T>
struct example_batch {
  std::vector<std::vector<T>> inputs;
  std::vector<std::vector<std::int32_t>> indices;
  std::vector<std::vector<T>> targets;
  std::vector<cohort::tensor_view> input_views;
  std::vector<cohort::tensor_view> target_views;
  std::list<std::vector<std::uint8_t>>
      masks;  // of random lengths, some with a gap; an example may have no step
  std::vector<cohort::tensor_view> mask_views;
  double divisor = 0;

  example_batch(cohort::graph_view net, int batch, std::uint64_t seed) {
    cohort::random_stream const numbers(seed, "batch");
    std::uint64_t drawn = 0;
    for (int id : net.with_role(cohort::layer_role::input)) {
      cohort::shape const dims = net[id].output.batched(batch);
      auto& values = inputs.emplace_back(static_cast<std::size_t>(dims.elements()));
      for (T& value : values) value = static_cast<T>(numbers.normal<float>(drawn++));
      input_views.emplace_back(values.data(), dims);
    }
    for (int id : net.with_role(cohort::layer_role::loss)) {
      auto const wanted = net.kind(id).target(net.fields(id), net.input_shapes(id));
      if (wanted.classes > 0) {
        cohort::shape const dims = wanted.index_shape().batched(batch);
        auto& labels = indices.emplace_back(static_cast<std::size_t>(dims.elements()));
        auto const classes = static_cast<std::uint64_t>(wanted.classes);
        for (std::int32_t& label : labels) label = static_cast<std::int32_t>(numbers.below(drawn++, classes));
        cohort::random_stream const ignored(seed, "ignored targets");
        for (std::size_t i = 1; wanted.ignores() && i < labels.size(); ++i)
          if (ignored.below(i, 3) == 0) labels[i] = wanted.ignored;
        target_views.emplace_back(labels.data(), dims);
      } else {
        cohort::shape const dims = wanted.values.batched(batch);
        auto& values = targets.emplace_back(static_cast<std::size_t>(dims.elements()));
        for (T& value : values)
          value = static_cast<T>(static_cast<float>(wanted.between(numbers.uniform01<float>(drawn++))));
        target_views.emplace_back(values.data(), dims);
      }
    }
    cohort::random_stream const lengths(seed, "masks");
    drawn = 0;
    for (int id : net.masks()) {
      if (net.kind(id).role != cohort::layer_role::input) continue;
      int const length = net[id].output[0];
      auto& steps = masks.emplace_back();
      for (int n = 0; n < batch; ++n) {
        auto const last = static_cast<int>(lengths.below(drawn++, static_cast<std::uint64_t>(length + 1)));
        int const count = n == 0 ? std::max(last, 1) : last;
        auto const gap = static_cast<int>(lengths.below(drawn++, static_cast<std::uint64_t>(2 * length)));
        for (int t = 0; t < length; ++t) steps.push_back(t < count && (t == 0 || t != gap));
      }
      mask_views.emplace_back(steps.data(), cohort::shape{batch, length});
    }
    divisor = cohort::detail::loss_divisor(net).of(input_views, mask_views, target_views, {}, batch);
  }
};

/// A network on one backend with random parameters and a batch, ready to run. The layers named `frozen` are
/// excluded from training. Another trial may share its store.
template <cohort::tensor_backend B>
struct trial {
  using T = typename B::scalar;
  using store_pointer = std::shared_ptr<cohort::parameter_store<B>>;

  store_pointer store;
  std::shared_ptr<cohort::plan const> plan;
  std::unique_ptr<cohort::plan_context> run;
  example_batch<T> batch;

  trial(cohort::graph_view net, cohort::plan_settings const& settings, std::uint64_t seed = 1,
        store_pointer shared = {}, std::vector<std::string> const& frozen = {})
      : store(shared ? shared : fresh(net, frozen)),
        plan(cohort::make_plan(store, net, settings)),
        run(plan->make_context()),
        batch(net, settings.batch, seed) {
    if (!shared) store->initialise(seed, {.bias = cohort::init::normal{0.1}});
    for (int p = 0; !shared && p < parameters(); ++p) {
      auto values = dense(p, store->master());
      for (T& value : values) value = static_cast<T>(static_cast<float>(value));  // as a float backend
      store->write(p, reinterpret_cast<std::byte const*>(values.data()), store->master());
    }
    if (!shared) store->mark_changed();
    store->refresh_stale();
  }

  static store_pointer fresh(cohort::graph_view net, std::vector<std::string> const& frozen) {
    auto const made = std::make_shared<cohort::parameter_store<B>>(B{}, net);
    made->freeze([&](std::size_t p) {
      return std::find(frozen.begin(), frozen.end(), made->table()[p].layer()) != frozen.end();
    });
    return made;
  }

  int parameters() const { return static_cast<int>(store->table().size()); }
  cohort::parameter const& parameter(int p) const { return store->table()[static_cast<std::size_t>(p)]; }

  std::vector<T> dense(int p, std::byte const* arena) const {
    std::vector<T> values(static_cast<std::size_t>(parameter(p).spec.dims.elements()));
    store->read(p, arena, reinterpret_cast<std::byte*>(values.data()));
    return values;
  }
  std::vector<T> gradient(int p) const { return dense(p, run->gradients()); }
  std::vector<T> all_gradients() const {
    std::vector<T> values(static_cast<std::size_t>(store->elements()));
    store->read_all(run->gradients(), reinterpret_cast<std::byte*>(values.data()));
    return values;
  }

  double forward() {
    run->forward(
        {.inputs = batch.input_views, .targets = batch.target_views, .masks = batch.mask_views, .seed = 1});
    return run->loss() / batch.divisor;
  }
  /// Runs forward and backward of the mean loss, and returns the loss.
  double step(bool accumulate = false, cohort::ready_function const* ready = nullptr,
              cohort::detail::batch_moments* statistics = nullptr) {
    double const loss = forward();
    run->backward({.gradient_scale = 1.0 / batch.divisor,
                   .accumulate = accumulate,
                   .ready = ready,
                   .statistics = statistics});
    return loss;
  }
  std::vector<T> output(int which = 0) const {
    auto const values = run->output(which).template as<T>();
    return {values.begin(), values.end()};
  }
};
