// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cohort/optimizer/update_pass.hpp>
#include <cohort/optimizer/updater_text.hpp>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

using cohort::isa;
using cohort::update_scalars;
using cohort::updater;

std::vector<isa> usable() {
  std::vector<isa> list;
  for (isa const which : {isa::baseline, isa::avx2, isa::avx512})
    if (which <= cohort::machine_isa()) list.push_back(which);
  return list;
}

std::vector<updater> all_updaters() {
  return {cohort::sgd{}, cohort::momentum{}, cohort::nesterov{.momentum = 0.7}, cohort::adagrad{},
          cohort::adam{}};
}

/// One element's update, written from the formulas of the papers in plain double.
struct oracle {
  double w, first = 0, second = 0;  // velocity or squares or mean; mean of squares

  void step(updater const& rule, update_scalars const& now, double gradient) {
    double const g = gradient * now.gradient_scale + now.l2 * w + (w > 0 ? now.l1 : w < 0 ? -now.l1 : 0);
    std::string const name(rule.name());
    if (name == "sgd") {
      w -= now.rate * g;
    } else if (name == "momentum") {
      first = rule.number(0) * first + g;
      w -= now.rate * first;
    } else if (name == "nesterov") {
      first = rule.number(0) * first + g;
      w -= now.rate * (g + rule.number(0) * first);
    } else if (name == "adagrad") {
      first += g * g;
      w -= now.rate * g / (std::sqrt(first) + rule.number(0));
    } else if (name == "adam") {
      double const b1 = rule.number(0), b2 = rule.number(1), t = static_cast<double>(now.step) + 1;
      first = b1 * first + (1 - b1) * g;
      second = b2 * second + (1 - b2) * g * g;
      double const mean = first / (1 - std::pow(b1, t));
      double const square = second / (1 - std::pow(b2, t));
      w -= now.rate * mean / (std::sqrt(square) + rule.number(2));
    } else {
      ADD_FAILURE() << "no oracle for " << name;
    }
  }
};

/// A parameter array with its gradient parts and state.
template <class T>
struct arrays {
  std::vector<T> w;
  std::vector<std::vector<T>> gradients;
  std::vector<std::vector<T>> states;

  arrays(updater const& rule, std::size_t n, int parts, std::size_t padding = 0) : w(n) {
    for (std::size_t i = 0; i + padding < n; ++i)
      w[i] = i % 11 == 5 ? T(0) : static_cast<T>(std::sin(static_cast<double>(i) * 0.7) * 2);
    gradients.assign(static_cast<std::size_t>(parts), std::vector<T>(n));
    for (int k = 0; k < rule.state_arrays(); ++k)
      states.emplace_back(n, static_cast<T>(rule.initial_state(k)));
    draw(0, padding);
  }
  void draw(int step, std::size_t padding = 0) {
    for (std::size_t p = 0; p < gradients.size(); ++p)
      for (std::size_t i = 0; i + padding < w.size(); ++i)
        gradients[p][i] =
            i % 13 == 7 ? T(0)
                        : static_cast<T>(
                            std::cos(static_cast<double>(i * (p + 1) + static_cast<std::size_t>(step) * 17)));
  }
  void update(isa which, updater const& rule, update_scalars const& now, std::size_t from, std::size_t n) {
    std::vector<T const*> g;
    std::vector<T*> s;
    for (auto& part : gradients) g.push_back(part.data() + from);
    for (auto& state : states) s.push_back(state.data() + from);
    cohort::apply_update(which, rule, now, w.data() + from, g.data(), static_cast<int>(g.size()), s.data(),
                         n);
  }
  void update(isa which, updater const& rule, update_scalars const& now) {
    update(which, rule, now, 0, w.size());
  }
};

template <class T>
class update_pass : public testing::Test {};
using elements = testing::Types<float, double>;
TYPED_TEST_SUITE(update_pass, elements);

// Sixteen units of rounding at the size of the values, 4: ten steps round the parameter ten times, half a
// unit each, and the step taken is smaller. The oracle starts from the same rounded numbers and adds the
// gradient's parts as the contract does.
template <class T>
constexpr double bound = (sizeof(T) == 4 ? 0x1p-24 : 0x1p-53) * 4 * 16;

TYPED_TEST(update_pass, agrees_with_a_scalar_oracle_on_every_instruction_set) {
  using T = TypeParam;
  std::size_t const n = 96;
  for (isa const which : usable()) {
    for (updater const& rule : all_updaters()) {
      for (int const parts : {1, 2, 3, 5}) {
        arrays<T> a(rule, n, parts);
        std::vector<oracle> expected;
        for (T const w : a.w)
          expected.push_back({.w = w, .first = rule.state_arrays() ? rule.initial_state(0) : 0});
        for (int step = 0; step < 10; ++step) {
          update_scalars const now{
              .rate = 0.1 / (1 + step), .step = step, .l1 = 0.01, .l2 = 0.03, .gradient_scale = 0.5};
          a.draw(step);
          a.update(which, rule, now);
          for (std::size_t i = 0; i < n; ++i) {
            T g = a.gradients[0][i];
            for (std::size_t p = 1; p < a.gradients.size(); ++p) g += a.gradients[p][i];
            expected[i].step(rule, now, g);
            ASSERT_NEAR(a.w[i], expected[i].w, bound<T>) << rule.name() << ' ' << name_of(which) << " parts "
                                                         << parts << " step " << step << " element " << i;
          }
        }
      }
    }
  }
}

TYPED_TEST(update_pass, changes_no_bit_when_the_range_is_cut) {
  using T = TypeParam;
  std::size_t const n = 16 * 9;
  update_scalars const now{.rate = 0.05, .step = 3, .l1 = 0.001, .l2 = 0.01, .gradient_scale = 0.25};
  for (isa const which : usable()) {
    for (updater const& rule : all_updaters()) {
      for (int const parts : {1, 2, 3}) {
        arrays<T> whole(rule, n, parts);
        whole.update(which, rule, now);
        for (std::size_t const piece : {16, 32, 80}) {
          arrays<T> cut(rule, n, parts);
          for (std::size_t from = 0; from < n; from += piece)
            cut.update(which, rule, now, from, std::min(piece, n - from));
          EXPECT_EQ(std::memcmp(cut.w.data(), whole.w.data(), n * sizeof(T)), 0)
              << rule.name() << ' ' << piece;
          EXPECT_EQ(cut.states, whole.states) << rule.name() << ' ' << piece;
        }
      }
    }
  }
}

TYPED_TEST(update_pass, leaves_padding_exactly_zero) {
  using T = TypeParam;
  std::size_t const n = 64, padding = 23;
  for (isa const which : usable()) {
    for (updater const& rule : all_updaters()) {
      arrays<T> a(rule, n, 2, padding);
      auto const states = a.states;
      for (int step = 0; step < 20; ++step) {
        a.draw(step, padding);
        a.update(which, rule, {.rate = 10, .step = step, .l1 = 0.1, .l2 = 0.1, .gradient_scale = 3});
      }
      for (std::size_t i = n - padding; i < n; ++i) {
        T const zero = 0;
        EXPECT_EQ(std::memcmp(&a.w[i], &zero, sizeof zero), 0) << rule.name() << ' ' << name_of(which);
        for (std::size_t k = 0; k < states.size(); ++k)
          EXPECT_EQ(a.states[k][i], states[k][i]) << rule.name();
      }
      EXPECT_NE(a.w[0], T(0));
    }
  }
}

TYPED_TEST(update_pass, lets_a_nan_through) {
  using T = TypeParam;
  for (isa const which : usable()) {
    for (updater const& rule : all_updaters()) {
      arrays<T> a(rule, 32, 1);
      a.gradients[0][17] = std::numeric_limits<T>::quiet_NaN();
      a.update(which, rule, {.rate = 0.1, .l1 = 0.1});
      for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(std::isnan(a.w[i]), i == 17) << rule.name();
    }
  }
}

TYPED_TEST(update_pass, refuses_a_range_that_is_not_padded_and_touches_nothing) {
  using T = TypeParam;
  updater const rule = cohort::sgd{};
  arrays<T> a(rule, 32, 1);
  auto const before = a.w;
  EXPECT_THROW(a.update(isa::baseline, rule, {.rate = 0.1}, 0, 24), cohort::shape_error);
  EXPECT_EQ(a.w, before);
  EXPECT_NO_THROW(a.update(isa::baseline, rule, {.rate = 0.1}, 0, 0));
  EXPECT_EQ(a.w, before);
}

// PyTorch's numbers, made by tests/golden/updaters.py. In double both sides round differently some 10 times a
// step; what is left after ten steps is below 1e-14 here. In float: ten steps of about ten roundings of
// values below 4.
TYPED_TEST(update_pass, takes_the_steps_that_pytorch_takes) {
  using T = TypeParam;
  std::string const here = __FILE__;
  std::string const path = here.substr(0, here.rfind("optimizer/")) + "golden/updaters.txt";
  std::ifstream file(path);
  ASSERT_TRUE(file) << path;
  double const tolerance = sizeof(T) == 4 ? 5e-6 : 1e-14;
  std::vector<std::vector<double>> gradients;
  auto const numbers = [](std::istringstream& line) {
    std::vector<double> list;
    for (double x = 0; line >> x;) list.push_back(x);
    return list;
  };
  std::string text;
  int cases = 0;
  std::vector<double> w;
  while (std::getline(file, text)) {
    std::istringstream line(text);
    std::string word, name;
    line >> word;
    if (word == "g") {
      gradients.push_back(numbers(line));
      continue;
    }
    ASSERT_EQ(word, "case");
    ASSERT_EQ(gradients.size(), 10U);
    double rate = 0, l2 = 0;
    line >> name >> word >> rate >> word >> l2;
    ++cases;
    std::vector<std::vector<double>> expected;
    for (int step = 0; step <= 10; ++step) {
      ASSERT_TRUE(std::getline(file, text));
      std::istringstream row(text);
      row >> word;
      ASSERT_EQ(word, "w");
      expected.push_back(numbers(row));
    }
    cohort::rate_schedule const schedule = cohort::schedule::step{
        .initial = rate, .factor = 0.5, .every = 4, .by = cohort::schedule::unit::step};
    updater rule = updater::from(name, schedule, {});
    if (name == "nesterov") rule = cohort::nesterov{.rate = schedule, .momentum = 0.8};
    for (isa const which : usable()) {
      arrays<T> a(rule, 16, 1);
      for (std::size_t i = 0; i < 16; ++i) a.w[i] = i < 6 ? static_cast<T>(expected[0][i]) : T(0);
      for (int step = 0; step < 10; ++step) {
        for (std::size_t i = 0; i < 16; ++i)
          a.gradients[0][i] = i < 6 ? static_cast<T>(gradients[static_cast<std::size_t>(step)][i]) : T(0);
        a.update(which, rule, {.rate = rule.rate().value(step, 0), .step = step, .l2 = l2});
        for (std::size_t i = 0; i < 6; ++i)
          ASSERT_NEAR(a.w[i], expected[static_cast<std::size_t>(step) + 1][i], tolerance)
              << name << " l2 " << l2 << " step " << step << " element " << i << ' ' << name_of(which);
      }
    }
  }
  EXPECT_EQ(cases, 10);
}

TEST(updater_text, is_the_text_of_the_formulas) {
  std::string const text = cohort::detail::updater_text;
  EXPECT_NE(text.find("struct adagrad"), std::string::npos);
  EXPECT_NE(text.find("s[0] = s[0] + g * g;"), std::string::npos);
  EXPECT_EQ(text.find('#'), std::string::npos);
}

}  // namespace
