// SPDX-License-Identifier: Apache-2.0
// needs: onednn
#include <algorithm>
#include <array>
#include <cmath>
#include <cohort/cohort.hpp>
#include <cohort/onednn.hpp>
#include <cohort/plan/gradient_check.hpp>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string_view>
#include <vector>

/// Quantile loss: predicts a number that is above the share `quantile` of the targets.
struct quantile_loss {
  static constexpr std::string_view kind_name = "quantile_loss";
  static constexpr cohort::layer_role role = cohort::layer_role::loss;

  double quantile = 0.5;
  std::string_view name{};
  cohort::source_line at = cohort::source_line::here();

  static constexpr auto fields() {
    return cohort::field_list{cohort::field{"quantile", &quantile_loss::quantile}};
  }
  constexpr cohort::inference infer(std::span<cohort::shape const> inputs) const {
    if (!(quantile > 0 && quantile < 1)) return {"the quantile must be between 0 and 1"};
    if (inputs[0] != cohort::shape{1}) return {"a quantile loss needs one number", {"input", inputs[0]}};
    return inputs[0];
  }
  constexpr cohort::target_spec target(std::span<cohort::shape const> inputs) const {
    return {.numbers = true, .values = inputs[0]};
  }

  template <class T>
  void forward(cohort::host_arguments<T> const& a) const {
    std::copy_n(a.inputs[0], a.batch, a.output);
    if (!a.loss) return;  // at inference
    T const* const wanted = a.target->template as<T>().data();
    a.loss->sum = 0;
    for (int n = 0; n < a.batch; ++n) {
      double const above = static_cast<double>(wanted[n] - a.inputs[0][n]);
      a.loss->sum += a.scalars->weight(n) * std::max(quantile * above, (quantile - 1) * above);
    }
  }
  template <class T>
  void backward(cohort::host_arguments<T> const& a) const {
    if (!a.diff_inputs[0]) return;
    T const* const wanted = a.target->template as<T>().data();
    for (int n = 0; n < a.batch; ++n) {
      double const slope = wanted[n] > a.inputs[0][n] ? -quantile : 1 - quantile;
      a.diff_inputs[0][n] = static_cast<T>(slope * a.scalars->gradient_scale * a.scalars->weight(n));
    }
  }
};

/// Contrastive loss of two vectors with distance d: d² if the target is 1 (the same class), otherwise
/// max(0, margin − d)². The output is d.
struct contrastive_loss {
  static constexpr std::string_view kind_name = "contrastive_loss";
  static constexpr cohort::layer_role role = cohort::layer_role::loss;
  static constexpr int max_inputs = 2;

  double margin = 1;
  std::string_view name{};
  cohort::source_line at = cohort::source_line::here();

  static constexpr auto fields() {
    return cohort::field_list{cohort::field{"margin", &contrastive_loss::margin}};
  }
  constexpr cohort::inference infer(std::span<cohort::shape const> inputs) const {
    if (inputs.size() != 2) return {"a contrastive loss needs two inputs", {"input", inputs[0]}};
    if (inputs[0].rank != 1 || inputs[0] != inputs[1])
      return {"a contrastive loss needs two equal vectors", {"left", inputs[0]}, {"right", inputs[1]}};
    return cohort::shape{1};
  }
  constexpr cohort::target_spec target(std::span<cohort::shape const>) const {
    return {.numbers = true, .values = {1}, .lowest = 0, .highest = 1};
  }

  template <class T>
  void forward(cohort::host_arguments<T> const& a) const {
    int const width = a.input_shapes[0][0];
    for (int n = 0; n < a.batch; ++n) {
      T squares = 0;
      for (int i = n * width; i < (n + 1) * width; ++i)
        squares += (a.inputs[0][i] - a.inputs[1][i]) * (a.inputs[0][i] - a.inputs[1][i]);
      a.output[n] = std::sqrt(squares);
    }
    if (!a.loss) return;
    T const* const same = a.target->template as<T>().data();
    a.loss->sum = 0;
    for (int n = 0; n < a.batch; ++n) {
      double const distance = static_cast<double>(a.output[n]), missing = std::max(margin - distance, 0.0);
      double const y = static_cast<double>(same[n]);
      a.loss->sum += a.scalars->weight(n) * (y * distance * distance + (1 - y) * missing * missing);
    }
  }
  template <class T>
  void backward(cohort::host_arguments<T> const& a) const {
    int const width = a.input_shapes[0][0];
    T const* const same = a.target->template as<T>().data();
    for (int n = 0; n < a.batch; ++n) {
      double const distance = static_cast<double>(a.output[n]), missing = std::max(margin - distance, 0.0);
      double const y = static_cast<double>(same[n]);
      double const pull = 2 * y - (distance > 0 ? 2 * (1 - y) * missing / distance : 0);
      T const scale = static_cast<T>(pull * a.scalars->gradient_scale * a.scalars->weight(n));
      for (int i = n * width; i < (n + 1) * width; ++i) {
        T const slope = scale * (a.inputs[0][i] - a.inputs[1][i]);
        if (a.diff_inputs[0]) a.diff_inputs[0][i] = slope;
        if (a.diff_inputs[1]) a.diff_inputs[1][i] = -slope;
      }
    }
  }
};

constexpr auto upper_bound = cohort::network<[](cohort::builder& b) {
  using namespace cohort;
  return b.input({1}) | dense{.units = 16} | relu{} | dense{.units = 1} | quantile_loss{.quantile = 0.9};
}>();

constexpr int width = 6;
constexpr auto siamese = cohort::network<[](cohort::builder& b) {
  using namespace cohort;
  tensor const left = b.input({width}, "left") | dense{.units = 16, .name = "first"} | relu{}
                      | dense{.units = 2, .name = "last"};
  tensor const right = b.input({width}, "right") | dense{.units = 16, .settings = {.shares = "first"}}
                       | relu{} | dense{.units = 2, .settings = {.shares = "last"}};
  return join(contrastive_loss{}, left, right);
}>();

/// Returns whether backward computes the gradients of both losses.
bool check() {
  double const first = cohort::check_gradients(upper_bound).relative_error,
               second = cohort::check_gradients(siamese).relative_error;
  std::printf("largest relative errors %.1e and %.1e\n", first, second);
  return first < 1e-5 && second < 1e-5;
}

/// Predicts an upper bound of noisy numbers; 90 % of new numbers should be below the bound.
bool bound() {
  std::vector<float> places, numbers;
  cohort::random_stream const noise(1, "noise");
  for (std::uint64_t i = 0; i < 4000; ++i) {
    places.push_back(noise.uniform01(2 * i));
    numbers.push_back(places.back() + (0.2F + places.back()) * static_cast<float>(noise.normal(2 * i + 1)));
  }
  int const known = 3000;
  cohort::tensor_view const x{places.data(), {4000, 1}}, y{numbers.data(), {4000, 1}};
  auto const data = [&](int first, int count) {
    return cohort::arrays({{.values = x.rows(first, count)}}, {{.values = y.rows(first, count)}});
  };
  auto training =
      cohort::trainer<cohort::onednn>(upper_bound, {.optimizer = {cohort::adam{.learning_rate = 0.01}}});
  training.fit(data(0, known), {.batch = 50, .epochs = 30});
  cohort::predictions const bounds = training.predict(x.rows(known, 1000));
  int below = 0;
  for (int i = 0; i < 1000; ++i) below += numbers[static_cast<std::size_t>(known + i)] < bounds[i][0] ? 1 : 0;
  std::printf("%.1f %% of new numbers are below the bound\n", 0.1 * below);
  return below > 860 && below < 940;
}

/// Learns from pairs of points whether both belong to the same class, of four classes.
bool pairs() {
  std::vector<float> left, right, same;
  cohort::random_stream const numbers(1, "pairs");
  for (std::uint64_t pair = 0; pair < 3000; ++pair) {
    cohort::random_stream const own = numbers.at(pair);
    std::uint64_t const a = own.below(0, 4), b = own.below(1, 2) == 0 ? a : own.below(2, 4);
    for (std::uint64_t i = 0; i < width; ++i) {
      left.push_back((i == a ? 1.0F : 0.0F) + 0.2F * static_cast<float>(own.normal(10 + i)));
      right.push_back((i == b ? 1.0F : 0.0F) + 0.2F * static_cast<float>(own.normal(20 + i)));
    }
    same.push_back(a == b ? 1.0F : 0.0F);
  }
  int const known = 2500, count = 3000;
  cohort::tensor_view const lefts{left.data(), {count, width}}, rights{right.data(), {count, width}},
      targets{same.data(), {count, 1}};
  auto const data = [&](int first, int examples) {
    return cohort::arrays({{.name = "left", .values = lefts.rows(first, examples)},
                           {.name = "right", .values = rights.rows(first, examples)}},
                          {{.values = targets.rows(first, examples)}});
  };
  auto training =
      cohort::trainer<cohort::onednn>(siamese, {.optimizer = {cohort::adam{.learning_rate = 0.01}}});
  training.fit(data(0, known), {.batch = 50, .epochs = 15, .validation = data(known, count - known)});
  std::array const inputs{lefts.rows(known, count - known), rights.rows(known, count - known)};
  cohort::predictions const distances = training.predict(inputs);
  int right_answers = 0;
  for (int i = 0; i < count - known; ++i)
    right_answers += (distances[i][0] < 0.5F) == (same[static_cast<std::size_t>(known + i)] > 0.5F) ? 1 : 0;
  std::printf("%d of %d new pairs are recognised\n", right_answers, count - known);
  return right_answers > 475;
}

int main() try { return check() && bound() && pairs() ? 0 : 1; } catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
