// SPDX-License-Identifier: Apache-2.0
// needs: onednn
#include <array>
#include <cmath>
#include <cohort/cohort.hpp>
#include <cohort/onednn.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <tuple>
#include <vector>

constexpr auto net = cohort::network<[](cohort::builder& b) {
  using namespace cohort;
  tensor const state = b.input({4}, "state");
  return std::tuple(state | dense{.units = 64} | tanh_activation{} | dense{.units = 2}
                        | softmax_cross_entropy{.name = "action"},
                    state | dense{.units = 64} | tanh_activation{} | dense{.units = 1}
                        | mean_squared_error{.weight = 0.5, .name = "value"});
}>();

/// A pole on a cart, as in Barto, Sutton and Anderson, 1983. The state: position and speed of the cart, angle
/// and angular speed of the pole.
class cart_pole {
 public:
  explicit cart_pole(cohort::random_stream const& start) {
    for (std::uint64_t i = 0; i < 4; ++i) state_[i] = 0.1 * start.uniform01<double>(i) - 0.05;
  }

  void push(bool right) {
    double const cosine = std::cos(state_[2]), sine = std::sin(state_[2]);
    double const force = ((right ? 10 : -10) + 0.05 * state_[3] * state_[3] * sine) / 1.1;
    double const turn = (9.8 * sine - cosine * force) / (0.5 * (4.0 / 3 - 0.1 * cosine * cosine / 1.1));
    std::array<double, 4> const slope{state_[1], force - 0.05 * turn * cosine / 1.1, state_[3], turn};
    for (std::size_t i = 0; i < 4; ++i) state_[i] += 0.02 * slope[i];
  }
  bool fallen() const { return std::abs(state_[0]) > 2.4 || std::abs(state_[2]) > 0.2095; }
  void append_state(std::vector<float>& to) const {
    for (double const x : state_) to.push_back(static_cast<float>(x));
  }

 private:
  std::array<double, 4> state_{};
};

constexpr int carts = 16, steps = 16, examples = carts * steps;

/// The steps of all carts, one row per step and cart. `advantages` has a column per action.
struct experience {
  std::vector<float> states, advantages, returns;
};

experience collect(cohort::training const& run, std::vector<cart_pole>& all,
                   cohort::random_stream const& numbers) {
  experience seen;
  std::vector<std::size_t> actions;
  std::vector<float> values;
  std::vector<char> ends;
  std::vector<float> latest;
  for (int step = 0; step <= steps; ++step) {
    latest.clear();
    for (cart_pole const& cart : all) cart.append_state(latest);
    auto const outputs = run.outputs_of({"action", "value"}, cohort::tensor_view{latest.data(), {carts, 4}});
    values.insert(values.end(), outputs[1].values.begin(), outputs[1].values.end());
    if (step == steps) break;  // only the values of the last states are needed
    seen.states.insert(seen.states.end(), latest.begin(), latest.end());
    for (int i = 0; i < carts; ++i) {
      std::uint64_t const row = actions.size();
      cart_pole& cart = all[static_cast<std::size_t>(i)];
      actions.push_back(numbers.uniform01(2 * row) < outputs[0][i][0] ? 0 : 1);
      cart.push(actions.back() == 1);
      ends.push_back(cart.fallen());
      if (cart.fallen()) cart = cart_pole(numbers.at(row + 1));
    }
  }
  seen.advantages.resize(actions.size() * 2);
  seen.returns.resize(actions.size());
  std::array<float, carts> sums{};
  for (std::size_t row = actions.size(); row-- > 0;) {
    float const goes_on = ends[row] ? 0.0F : 1.0F;
    float const error = 1 + 0.99F * goes_on * values[row + carts] - values[row];
    float& sum = sums[row % carts];
    sum = error + 0.99F * 0.95F * goes_on * sum;
    seen.advantages[2 * row + actions[row]] = sum;
    seen.returns[row] = sum + values[row];
  }
  return seen;
}

/// Returns the mean number of steps, at most 500, for which the most probable actions keep the pole upright.
double balanced_steps(cohort::training const& run, cohort::random_stream const& starts) {
  constexpr int trials = 20;
  std::vector<float> state;
  int steps_of_all = 0;
  for (std::uint64_t trial = 0; trial < trials; ++trial) {
    cart_pole cart(starts.at(trial));
    for (int step = 0; step < 500 && !cart.fallen(); ++step) {
      state.clear();
      cart.append_state(state);
      cart.push(run.predict(cohort::tensor_view{state.data(), {1, 4}}).best(0) == 1);
      ++steps_of_all;
    }
  }
  return static_cast<double>(steps_of_all) / trials;
}

int main() try {
  cohort::training run =
      cohort::trainer<cohort::onednn>(net, {.optimizer = {cohort::adam{.learning_rate = 0.01}}});
  cohort::random_stream const starts(1, "starts");
  std::vector<cart_pole> all;
  for (std::uint64_t i = 0; i < carts; ++i) all.emplace_back(starts.at(i));

  double upright = 0;
  for (std::uint64_t update = 0; update < 5000 && upright < 475; ++update) {
    experience seen = collect(run, all, cohort::random_stream(1, "actions", update));
    double squares = 0;
    for (float const x : seen.advantages) squares += static_cast<double>(x) * static_cast<double>(x);
    float const scale = static_cast<float>(1 / std::sqrt(squares / examples + 1e-8));
    for (float& x : seen.advantages) x *= scale;
    cohort::batch_view batch;
    batch.inputs = {{seen.states.data(), {examples, 4}}};
    batch.targets = {{seen.advantages.data(), {examples, 2}}, {seen.returns.data(), {examples, 1}}};
    batch.count = examples;
    run.train_on(batch);
    if (update % 100 == 99) {
      upright = balanced_steps(run, cohort::random_stream(2, "test", update));
      std::printf("%d updates: the pole stays upright for %.1f steps\n", static_cast<int>(update) + 1,
                  upright);
    }
  }

  run.save("actor.safetensors");
  return upright < 475 ? 1 : 0;
} catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
