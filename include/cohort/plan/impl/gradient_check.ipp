// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cohort/backend/reference.hpp>
#include <cohort/plan/detail/loss_divisor.hpp>
#include <cohort/plan/gradient_check.hpp>
#include <cohort/plan/make_plan.hpp>
#include <cohort/plan/parameter_store.hpp>
#include <cohort/random/stream.hpp>
#include <cstdint>
#include <list>
#include <memory>
#include <vector>

namespace cohort::detail {

/// Network with random inputs and targets in double precision; its loss is a function of its parameters.
class checked_network {
 public:
  checked_network(graph_view net, gradient_check_settings const& settings)
      : store_(std::make_shared<parameter_store<reference<double>>>(reference<double>{}, net)),
        plan_(make_plan(store_, net, {.batch = settings.batch})),
        run_(plan_->make_context()),
        divisor_(net),
        seed_(settings.seed) {
    store_->initialise(settings.seed, {.bias = init::normal{0.1}});
    random_stream const numbers(settings.seed, "gradient check");
    std::uint64_t drawn = 0;
    for (shape const& input : plan_->inputs()) {
      shape const dims = input.batched(settings.batch);
      memory_.emplace_back(static_cast<std::size_t>(dims.elements()) * sizeof(double));
      for (std::int64_t i = 0; i < dims.elements(); ++i)
        memory_.back().as<double>()[i] = numbers.normal<double>(drawn++);
      inputs_.emplace_back(memory_.back().as<double>(), dims);
    }
    for (int id : net.masks()) {
      if (net.kind(id).role != layer_role::input) continue;
      std::vector<std::uint8_t>& steps = masks_.emplace_back();
      for (int n = 0; n < settings.batch; ++n) {  // at least the first step is unmasked
        auto const length = static_cast<std::uint64_t>(net[id].output[0]),
                   last = numbers.below(drawn++, length), gap = numbers.below(drawn++, length);
        for (std::uint64_t t = 0; t < length; ++t) steps.push_back(t == 0 || (t <= last && t != gap));
      }
      mask_views_.emplace_back(steps.data(), shape{settings.batch, net[id].output[0]});
    }
    random_stream const ignored(settings.seed, "ignored targets");
    std::uint64_t labels = 0;
    for (int loss : net.with_role(layer_role::loss)) {
      target_spec const wanted = net.target(loss);
      if (wanted.classes > 0)
        add_target<std::int32_t>(wanted.index_shape().batched(settings.batch), [&] {
          auto const label =
              static_cast<std::int32_t>(numbers.below(drawn++, static_cast<std::uint64_t>(wanted.classes)));
          std::uint64_t const number = labels++;  // the first target is never ignored
          bool const skip = wanted.ignores() && number > 0 && ignored.below(number, 3) == 0;
          return skip ? wanted.ignored : label;
        });
      else
        add_target<double>(wanted.values.batched(settings.batch),
                           [&] { return wanted.between(numbers.uniform01<double>(drawn++)); });
    }
  }

  parameter_set const& parameters() const { return *store_; }
  double& element(int parameter, std::int64_t i) {
    return reinterpret_cast<double*>(store_->parameter_data(parameter, store_->master()))[i];
  }
  double gradient(int parameter, std::int64_t i) const {
    return reinterpret_cast<double const*>(store_->parameter_data(parameter, run_->gradients()))[i];
  }
  double mean_loss() {
    run_->forward({.inputs = inputs_, .targets = targets_, .masks = mask_views_, .seed = seed_});
    return run_->loss() / divisor();
  }
  void differentiate() {
    mean_loss();
    run_->backward({.gradient_scale = 1.0 / divisor()});
  }

 private:
  double divisor() const { return divisor_.of(inputs_, mask_views_, targets_, {}, plan_->batch()); }

  template <class E, class Draw>
  void add_target(shape const& dims, Draw next) {
    E* const to =
        memory_.emplace_back(static_cast<std::size_t>(dims.elements()) * sizeof(E)).template as<E>();
    for (std::int64_t i = 0; i < dims.elements(); ++i) to[i] = next();
    targets_.emplace_back(to, dims);
  }

  std::shared_ptr<parameter_store<reference<double>>> store_;
  std::shared_ptr<plan const> plan_;
  std::unique_ptr<plan_context> run_;
  loss_divisor divisor_;
  std::uint64_t seed_;
  std::vector<buffer> memory_;
  std::list<std::vector<std::uint8_t>> masks_;
  std::vector<tensor_view> inputs_;
  std::vector<tensor_view> targets_;
  std::vector<tensor_view> mask_views_;
};

}  // namespace cohort::detail

namespace cohort {

gradient_report check_gradients(graph_view net, gradient_check_settings const& settings) {
  detail::checked_network checked(net, settings);
  checked.differentiate();
  auto const table = checked.parameters().table();
  double largest = 0;
  for (int p = 0; p < static_cast<int>(table.size()); ++p) {
    parameter_spec const& spec = table[static_cast<std::size_t>(p)].spec;
    if (!is_trained(spec.role)) continue;
    for (std::int64_t i = 0; i < spec.dims.elements(); ++i)
      largest = std::max(largest, std::abs(checked.gradient(p, i)));
  }

  auto const difference = [&](int p, std::int64_t i, double epsilon) {
    double const before = checked.element(p, i);
    checked.element(p, i) = before + epsilon;
    double const above = checked.mean_loss();
    checked.element(p, i) = before - epsilon;
    double const below = checked.mean_loss();
    checked.element(p, i) = before;
    return (above - below) / (2 * epsilon);
  };
  auto const error_of = [&](double analytic, double numeric) {
    double const error = std::abs(analytic - numeric);
    double const scale = std::max({std::abs(analytic), std::abs(numeric), 1e-3 * largest});
    if (!std::isfinite(error)) return HUGE_VAL;
    return error == 0 ? 0 : error / scale;
  };

  gradient_report worst;
  for (int p = 0; p < static_cast<int>(table.size()); ++p) {
    parameter const& tensor = table[static_cast<std::size_t>(p)];
    if (!is_trained(tensor.spec.role)) continue;
    std::int64_t const elements = tensor.spec.dims.elements();
    bool const all = settings.samples < 1 || elements <= settings.samples;
    random_stream const chosen(settings.seed, tensor.name);
    for (std::int64_t s = 0; s < (all ? elements : settings.samples); ++s) {
      auto const drawn = chosen.below(static_cast<std::uint64_t>(s), static_cast<std::uint64_t>(elements));
      std::int64_t const i = all ? s : static_cast<std::int64_t>(drawn);
      double const analytic = checked.gradient(p, i);
      double numeric = difference(p, i, settings.epsilon);
      double error = error_of(analytic, numeric);
      if (error > 1e-7) {
        double const finer = difference(p, i, settings.epsilon / 8);
        if (error_of(analytic, finer) < error) error = error_of(analytic, numeric = finer);
      }
      ++worst.compared;
      if (worst.compared > 1 && error <= worst.relative_error) continue;
      worst = {error, tensor.name, i, analytic, numeric, worst.compared};
    }
  }
  return worst;
}

}  // namespace cohort
