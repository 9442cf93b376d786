// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cohort/backend/reference.hpp>
#include <cohort/layer/activation.hpp>
#include <cohort/layer/bounded_activations.hpp>
#include <cohort/layer/conv2d.hpp>
#include <cohort/layer/mean_absolute_error.hpp>
#include <cohort/layer/rectifying_activations.hpp>
#include <cohort/layer/scale.hpp>
#include <cohort/tensor/bf16.hpp>
#include <cstdio>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "../plan/trial.hpp"

/// Errors of every activation and its derivative on a backend, over the whole range of x, compared with
/// reference<double>. Part of the conformance suite: `expect_activation_errors<B>(bounds)`.
namespace activation_errors {

using namespace cohort;

/// Bound of an error: relative·|exact| + absolute.
struct bound {
  double relative = 0;
  double absolute = 0;
};
struct bounds {
  bound value;
  bound derivative;
};

/// For |x| ≥ 87, exp(−|x|) is close to the smallest normal f32 number, or below it. Backends may flush such
/// results to 0, except softplus.
inline constexpr double normal = 87;
/// Bounds of the ranges of x, one range per column of the table.
inline constexpr double edges[]{-110, -normal, -30, -10, -5, -1, -1e-3, 0, 1e-3, 1, 5, 10, 30, normal, 110};
inline constexpr std::size_t ranges = std::size(edges) - 1;

/// Points of each range; near 0 their distances are smaller. If `narrow`, all points are exact in bf16.
inline std::vector<float> points(bool narrow) {
  constexpr int each = 400;
  std::vector<float> made;
  for (std::size_t r = 0; r < ranges; ++r)
    for (int i = 0; i < each; ++i) {
      double const part = (i + 0.5) / each, low = edges[r], high = edges[r + 1];
      bool const at_zero = low == 0 || high == 0;
      double const x = !at_zero ? low + part * (high - low) : (low + high) * std::pow(1e-4, part);
      made.push_back(narrow ? bf16::nearest(static_cast<float>(x)).value() : static_cast<float>(x));
    }
  return made;
}

struct samples {
  std::vector<double> values, derivatives;
};

/// Evaluates an activation on a backend. The input is multiplied by a factor of 1 per element; the gradient
/// of this factor is the derivative times x. If `narrow`, the factor is a convolution, whose output a backend
/// may store in bf16.
template <class B, layer L>
samples sampled(L const& l, std::vector<float> const& x, bool narrow) {
  using T = typename B::scalar;
  auto const count = static_cast<int>(x.size());
  auto const body = [&](builder& b) {
    if (!narrow) return b.input({count}) | scale{.learned = true} | l;
    return b.input({count, 1, 1}) | conv2d{.filters = count, .kernel = 1, .groups = count, .bias = false} | l;
  };
  trial<B> inferred(graph::build(body), {.batch = 1, .training = false});
  trial<B> trained(graph::build([&](builder& b) { return body(b) | mean_absolute_error{}; }), {.batch = 1});
  for (trial<B>* const one : {&inferred, &trained}) {
    std::vector<T> const ones(x.size(), T(1));
    one->store->write(0, reinterpret_cast<std::byte const*>(ones.data()), one->store->master());
    one->store->mark_changed();
    one->store->refresh_stale();
    std::copy(x.begin(), x.end(), one->batch.inputs[0].begin());
  }
  std::fill(trained.batch.targets[0].begin(), trained.batch.targets[0].end(), T(-1e6));
  inferred.forward();
  trained.step();
  samples made;
  for (T const y : inferred.output()) made.values.push_back(static_cast<double>(y));
  std::vector<T> const gradient = trained.gradient(0);
  for (std::size_t i = 0; i < x.size(); ++i)
    made.derivatives.push_back(static_cast<double>(gradient[i]) * count / static_cast<double>(x[i]));
  return made;
}

/// Calls visit(layer) for every activation without random numbers.
template <class F>
void each_activation(F const& visit) {
  visit(relu{});
  visit(leaky_relu{.slope = 0.3});
  visit(relu6{});
  visit(elu{});
  visit(selu{});
  visit(sigmoid{});
  visit(hard_sigmoid{});
  visit(tanh_activation{});
  visit(hard_tanh{});
  visit(softsign{});
  visit(softplus{});
  visit(swish{});
  visit(gelu{});
  visit(gelu_tanh{});
  visit(mish{});
  visit(identity_activation{});
}

/// Largest relative errors of one activation, per range.
struct row {
  std::string name;
  double values[ranges]{};
  double derivatives[ranges]{};
};

/// Checks one activation and returns its row of the table. `allowed`: the bounds of its errors.
template <class B, layer L>
row measured(L const& l, bounds const& allowed, bool narrow) {
  std::vector<float> const x = points(narrow);
  samples const got = sampled<B>(l, x, narrow), exact = sampled<reference<double>>(l, x, narrow);
  row made{std::string(L::kind_name)};
  constexpr double least_normal = std::numeric_limits<float>::min();
  int failures = 0;
  auto const check = [&](std::size_t i, char const* what, double is, double wanted, bound const& most,
                         double& worst) {
    double const error = std::abs(is - wanted), flushed = std::abs(x[i]) > normal ? 200 * least_normal : 0;
    if (std::abs(wanted) >= least_normal && error > flushed)
      worst = std::max(worst, error / std::abs(wanted));
    if (error <= most.relative * std::abs(wanted) + most.absolute + flushed + least_normal) return;
    if (++failures <= 3)
      ADD_FAILURE() << L::kind_name << ": " << what << " at " << x[i] << " is " << is << ", wanted "
                    << wanted;
  };
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::size_t const r = i / (x.size() / ranges);
    check(i, "value", got.values[i], exact.values[i], allowed.value, made.values[r]);
    check(i, "derivative", got.derivatives[i], exact.derivatives[i], allowed.derivative, made.derivatives[r]);
    double const least = narrow ? -92 : -103;  // of the denormals of the type
    if (L::kind_name == softplus::kind_name && x[i] > least && !(got.values[i] > 0) && ++failures <= 3)
      ADD_FAILURE() << "softplus at " << x[i] << " is " << got.values[i] << ", but its logarithm exists";
  }
  return made;
}

/// Prints largest relative errors as a Markdown table.
inline void print(std::vector<row> const& rows, char const* what, double (row::*errors)[ranges]) {
  std::printf("\nrelative errors of %s\n\n| activation |", what);
  for (std::size_t r = 0; r < ranges; ++r) std::printf(" %g to %g |", edges[r], edges[r + 1]);
  std::printf("\n|---|");
  for (std::size_t r = 0; r < ranges; ++r) std::printf("---|");
  for (row const& one : rows) {
    std::printf("\n| %s |", one.name.c_str());
    for (double const error : one.*errors) std::printf(error == 0 ? " 0 |" : " %.0e |", error);
  }
  std::printf("\n");
}

/// Checks all activations, and prints the table of their errors. `by_name`: bounds of single activations;
/// `otherwise`: bounds of all other activations. `narrow`: the backend computes in bf16.
template <class B>
void expect_activation_errors(bounds const& otherwise, std::map<std::string, bounds> const& by_name = {},
                              bool narrow = false) {
  std::vector<row> rows;
  std::size_t used = 0;
  each_activation([&](auto const& l) {
    auto const found = by_name.find(std::string(l.kind_name));
    used += found != by_name.end();
    rows.push_back(measured<B>(l, found != by_name.end() ? found->second : otherwise, narrow));
  });
  EXPECT_EQ(used, by_name.size()) << "a bound names no activation";
  print(rows, "values", &row::values);
  print(rows, "derivatives", &row::derivatives);
}

}  // namespace activation_errors
