// SPDX-License-Identifier: Apache-2.0
// needs: onednn
#include <cmath>
#include <cohort/cohort.hpp>
#include <cohort/onednn.hpp>
#include <cohort/plan/gradient_check.hpp>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

/// Gaussian units: y_u = exp(−‖x − centre_u‖² / (2·width²)).
struct radial {
  static constexpr std::string_view kind_name = "radial";

  cohort::required<int, "units"> units;
  double width = 1;
  cohort::layer_settings settings = {};
  std::string_view name{};
  cohort::source_line at = cohort::source_line::here();

  static constexpr auto fields() {
    return cohort::field_list{cohort::field{"units", &radial::units}, cohort::field{"width", &radial::width}};
  }

  constexpr cohort::inference infer(std::span<cohort::shape const> inputs) const {
    if (units < 1) return {"a radial layer needs at least one unit", cohort::labelled_number("units", units)};
    if (!(width > 0)) return {"the width of a radial layer must be above 0"};
    if (inputs[0].rank != 1) return {"a radial layer needs a vector", {"input", inputs[0]}};
    return cohort::shape{units.value};
  }

  constexpr cohort::parameter_list parameters(std::span<cohort::shape const> inputs) const {
    int const n = inputs[0][0];
    cohort::parameter_list list;
    list.add({"centres",
              {units.value, n},
              cohort::parameter_role::weights,
              n,
              units,
              cohort::init::normal{.deviation = 0.5}});
    return list;
  }

  constexpr double flops(std::span<cohort::shape const> inputs) const {
    return 3.0 * static_cast<double>(inputs[0].elements()) * units;
  }

  template <class T>
  void forward(cohort::host_arguments<T> const& a) const {
    int const n = a.input_shapes[0][0];
    T const factor = static_cast<T>(-1 / (2 * width * width));
    for (int example = 0; example < a.batch; ++example)
      for (int u = 0; u < units; ++u) {
        T const* const x = a.inputs[0] + example * n;
        T const* const centre = a.parameters[0] + u * n;
        T squares = 0;
        for (int i = 0; i < n; ++i) squares += (x[i] - centre[i]) * (x[i] - centre[i]);
        a.output[example * units + u] = std::exp(factor * squares);
      }
  }

  template <class T>
  void backward(cohort::host_arguments<T> const& a) const {
    int const n = a.input_shapes[0][0];
    T const factor = static_cast<T>(1 / (width * width));
    for (int i = 0; i < units * n; ++i) a.diff_parameters[0][i] = 0;
    if (a.diff_inputs[0])
      for (int i = 0; i < a.batch * n; ++i) a.diff_inputs[0][i] = 0;
    for (int example = 0; example < a.batch; ++example)
      for (int u = 0; u < units; ++u) {
        T const slope = factor * a.diff_output[example * units + u] * a.output[example * units + u];
        for (int i = 0; i < n; ++i) {
          T const pull = slope * (a.inputs[0][example * n + i] - a.parameters[0][u * n + i]);
          a.diff_parameters[0][u * n + i] += pull;
          if (a.diff_inputs[0]) a.diff_inputs[0][example * n + i] -= pull;
        }
      }
  }
};

constexpr auto net = cohort::network<[](cohort::builder& b) {
  using namespace cohort;
  return b.input({2}) | radial{.units = 24, .width = 0.4} | dense{.units = 2} | softmax_cross_entropy{};
}>();

constexpr auto below_a_layer = cohort::network<[](cohort::builder& b) {
  using namespace cohort;
  return b.input({3}) | dense{.units = 4} | radial{.units = 5} | dense{.units = 2} | softmax_cross_entropy{};
}>();

/// Returns whether backward computes the gradient of forward.
bool check() {
  cohort::gradient_report const worst = cohort::check_gradients(below_a_layer);
  std::printf("largest relative error %.1e, in %s\n", worst.relative_error, worst.parameter.c_str());
  return worst.relative_error < 1e-5;
}

/// Trains on points of a square: class 1 in a ring, otherwise class 0. Saves the model and loads it.
bool train() {
  std::vector<float> points;
  std::vector<std::int32_t> in_ring;
  cohort::random_stream const numbers(1, "points");
  for (std::uint64_t i = 0; i < 2000; ++i) {
    float const x = 2 * numbers.uniform01(2 * i) - 1, y = 2 * numbers.uniform01(2 * i + 1) - 1;
    points.insert(points.end(), {x, y});
    in_ring.push_back(x * x + y * y > 0.2F && x * x + y * y < 0.7F ? 1 : 0);
  }
  cohort::arrays const data(points, {2}, in_ring, 2);

  auto training = cohort::trainer<cohort::onednn>(net, {.optimizer = {cohort::adam{.learning_rate = 0.01}}});
  training.fit(data, {.batch = 50, .epochs = 30});
  training.save("radial.safetensors");

  auto const again = cohort::load_trained<cohort::onednn, radial>("radial.safetensors");
  double const accuracy = training.evaluate(data).accuracy().value_or(0);
  bool const same = again.checksum() == training.checksum();
  std::printf("accuracy %.3f; the loaded model is %s\n", accuracy, same ? "the same" : "another");
  return accuracy > 0.85 && same;
}

int main() try { return check() && train() ? 0 : 1; } catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
