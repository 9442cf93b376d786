// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cohort/backend/reference.hpp>
#include <string>
#include <vector>

#include "../plan/trial.hpp"
#include "operations.hpp"

/// Conformance of a backend to reference<double>: one test (rung) per operation, from simple to composed,
/// which is the order for a new backend. `bool const registered = register_ladder<B>("conformance");`
namespace ladder {

using oracle = cohort::reference<double>;

/// Allowed errors of a tensor: for each element, relative to the largest element; for the whole tensor, by
/// Euclidean norms. A loss is a single number.
struct closeness {
  double each;
  double together;
};
struct tolerance {
  closeness output;
  closeness gradient;
};

/// A sum of n ≤ 2000 terms in f32 has an error of about √n·2⁻²⁴ ≤ 3e-6 of the largest element. A row has up
/// to five such sums in sequence, with softmax and its gradient.
inline constexpr tolerance in_f32{{2e-5, 2e-5}, {2e-5, 2e-5}};

template <class T>
void expect_close(std::vector<T> const& got, std::vector<double> const& wanted, closeness allowed,
                  std::string const& what) {
  ASSERT_EQ(got.size(), wanted.size()) << what;
  double largest = 0.01, worst = 0, square = 0, square_off = 0;
  std::size_t where = 0;
  for (double const x : wanted) largest = std::max(largest, std::abs(x)), square += x * x;
  for (std::size_t i = 0; i < got.size(); ++i) {
    double const error = std::abs(static_cast<double>(got[i]) - wanted[i]) / largest;
    if (!(error <= worst)) worst = error, where = i;
    square_off += error * error;
  }
  EXPECT_LE(worst, allowed.each) << what << " at element " << where << ": got " << got[where] << ", wanted "
                                 << wanted[where];
  double const norm = std::max(std::sqrt(square) / largest, 1.0);
  EXPECT_LE(std::sqrt(square_off) / norm, allowed.together) << what;
}

template <class B>
void expect_conformance(operations::row const& r, tolerance allowed, int batch, std::uint64_t seed) {
  SCOPED_TRACE("batch " + std::to_string(batch) + ", seed " + std::to_string(seed));
  cohort::graph const body = operations::network_of(r, seed, false),
                      whole = operations::network_of(r, seed, true);

  trial<B> inferred(body, {.batch = batch, .training = false}, seed);
  trial<oracle> outputs(body, {.batch = batch, .training = false}, seed);
  inferred.forward();
  outputs.forward();
  for (int o = 0; o < static_cast<int>(outputs.plan->outputs().size()); ++o)
    expect_close(inferred.output(o), outputs.output(o), allowed.output, "output " + std::to_string(o));

  trial<B> trained(whole, {.batch = batch}, seed);
  trial<oracle> gradients(whole, {.batch = batch}, seed);
  double const loss = gradients.step();
  EXPECT_NEAR(trained.step(), loss, allowed.output.together * std::max(1.0, loss));
  for (int p = 0; p < gradients.parameters(); ++p)
    expect_close(trained.gradient(p), gradients.gradient(p), allowed.gradient,
                 "gradient of " + gradients.parameter(p).name);
}

template <class B>
class rung : public testing::Test {
 public:
  rung(operations::row const& r, tolerance allowed) : row_(r), allowed_(allowed) {}
  void TestBody() override {
    for (std::uint64_t seed = 1; seed <= 3; ++seed)
      for (int batch : {1, 3, 16}) expect_conformance<B>(row_, allowed_, batch, seed);
  }

 private:
  operations::row const& row_;
  tolerance allowed_;
};

template <class B>
bool register_ladder(char const* suite, tolerance allowed = in_f32) {
  operations::each_row([&](operations::row const& r) {
    testing::RegisterTest(suite, r.name, nullptr, nullptr, __FILE__, __LINE__,
                          [&r, allowed]() -> testing::Test* { return new rung<B>(r, allowed); });
  });
  return true;
}

}  // namespace ladder
