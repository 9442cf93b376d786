// SPDX-License-Identifier: Apache-2.0
// needs: onednn
// covers: optimizer/own_optimizer
#include <gtest/gtest.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <cohort/backend/reference.hpp>
#include <cohort/checkpoint/model_file.hpp>
#include <cohort/checkpoint/optimizer_json.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/io/json.hpp>
#include <cohort/onednn.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/training/checkpoints.hpp>
#include <cohort/training/trainer.hpp>
#include <cohort/training/training_loop.hpp>
#include <string>
#include <utility>
#include <vector>
#include "../checkpoint/refusals.hpp"
#include "bright_thirds.hpp"
#include "parameters_of.hpp"

namespace own_optimizer_test {

using namespace cohort;
using cohort_test::bright_thirds;
using cohort_test::parameters_of;
using cohort_test::small;

/// m = beta·m + g; u = η·m / (1 + |m|) + η·decay·w
struct bounded_momentum {
  static constexpr std::string_view kind_name = "bounded_momentum";
  static constexpr std::array<std::string_view, 1> states{"mean"};

  rate_schedule learning_rate = 0.1;
  double beta = 0.8;
  double decay = 0;

  static constexpr auto fields() {
    return std::array{std::pair{"beta", &bounded_momentum::beta},
                      std::pair{"decay", &bounded_momentum::decay}};
  }
  std::array<double, 4> constants(optimizer_step const& now) const {
    return {now.rate, beta, now.rate * decay, static_cast<double>(now.step)};
  }
  template <class T>
  static T step(T g, T w, T* s, T const* c) {
    s[0] = c[1] * s[0] + g;
    return c[0] * s[0] / (1 + std::abs(s[0])) + c[2] * w;
  }
};

/// Adam, without its own name in the library.
struct adam_again {
  static constexpr std::string_view kind_name = "adam_again";
  static constexpr std::array<std::string_view, 2> states{"m", "v"};
  rate_schedule learning_rate = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;

  static constexpr auto fields() {
    return std::array{std::pair{"beta1", &adam_again::beta1}, std::pair{"beta2", &adam_again::beta2}};
  }
  std::array<double, 4> constants(optimizer_step const& now) const {
    double const t = static_cast<double>(now.step);
    return {now.rate / (1 - std::pow(beta1, t)), 1 / std::sqrt(1 - std::pow(beta2, t)), beta1, beta2};
  }
  template <class T>
  static T step(T g, T, T* s, T const* c) {
    s[0] = c[2] * s[0] + (1 - c[2]) * g;
    s[1] = c[3] * s[1] + (1 - c[3]) * (g * g);
    return c[0] * s[0] / (c[1] * std::sqrt(s[1]) + T(1e-8));
  }
};

tensor_view images(bright_thirds const& of, int count) { return {of.pixels.data(), {count, 1, 8, 8}}; }
tensor_view labels(bright_thirds const& of, int count) { return {of.labels.data(), shape{count}}; }

TEST(own_optimizer, is_a_value) {
  EXPECT_EQ(optimizer_rule(bounded_momentum{.decay = 0.5}).number("decay"), 0.5);
  EXPECT_EQ(optimizer_rule(bounded_momentum{}), optimizer_rule(bounded_momentum{}));
  EXPECT_NE(optimizer_rule(bounded_momentum{}), optimizer_rule(bounded_momentum{.beta = 0.7}));
  EXPECT_NE(optimizer_rule(bounded_momentum{}), optimizer_rule(adam_again{}));
  EXPECT_EQ(optimizer_rule(bounded_momentum{}).state_arrays(), 1);
  EXPECT_EQ(optimizer_rule(bounded_momentum{.decay = 1}).without_decay().number("decay"), 0);
}

TEST(own_optimizer, makes_the_steps_of_its_formula) {
  bright_thirds const examples(24);
  for (int workers : {1, 2, 3}) {
    training run = trainer<reference<double>>(
        small,
        {.optimizer = {.rule = bounded_momentum{.learning_rate = schedule::step{.initial = 0.2,
                                                                                .factor = 0.5,
                                                                                .every = 2,
                                                                                .by = schedule::unit::step},
                                                .decay = 0.1},
                       .l2 = 0.01,
                       .normalisation = normalise::clip_elementwise{0.05},
                       .decay_from_rank = 2},
         .workers = workers});
    std::vector<double> w = parameters_of(run), m(w.size());
    training_loop loop(run);
    for (int step = 0; step < 4; ++step) {
      loop.forward({images(examples, 24), labels(examples, 24)});
      loop.backward();
      std::vector<double> const g(loop.gradients<double>().begin(), loop.gradients<double>().end());
      loop.step();
      double const rate = step < 2 ? 0.2 : 0.1;
      for (parameter const& p : run.parameters().table())
        for (std::int64_t i = p.first; i < p.first + p.spec.dims.elements(); ++i) {
          auto const at = static_cast<std::size_t>(i);
          bool const weights = p.spec.role == parameter_role::weights;
          m[at] = 0.8 * m[at] + std::clamp(g[at], -0.05, 0.05) + (weights ? 0.01 * w[at] : 0);
          w[at] -= rate * m[at] / (1 + std::abs(m[at])) + (p.spec.dims.rank >= 2 ? rate * 0.1 * w[at] : 0);
        }
    }
    std::vector<double> const found = parameters_of(run);
    for (std::size_t i = 0; i < w.size(); ++i) ASSERT_NEAR(found[i], w[i], 1e-13) << workers << ' ' << i;
  }
}

TEST(own_optimizer, trains_like_the_built_in_one_on_every_backend_and_rank) {
  bright_thirds const examples(96);
  auto const trained = [&]<class B>(B, optimizer_rule const& rule, int ranks, int workers) {
    std::vector<float> found;
    launch<threads>(ranks, [&](communicator& world) {
      training run = trainer<B>(small, world, allreduce{}, {.optimizer = {rule}, .workers = workers});
      run.fit(examples.data(), {.batch = 16, .epochs = 2});
      if (world.rank() == 0) found = parameters_of<float>(run);
    });
    return found;
  };
  auto const compare = [&](auto backend, int ranks, int workers) {
    auto const expected = trained(backend, adam{}, ranks, workers),
               found = trained(backend, adam_again{}, ranks, workers);
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 2e-5F) << i;
  };
  compare(reference<float>{}, 1, 1);
  compare(reference<float>{}, 2, 3);
  compare(onednn{}, 2, 2);
}

TEST(own_optimizer, resumes_with_the_same_bits) {
  bright_thirds const examples(64);
  std::string const file = testing::TempDir() + "own_optimizer.safetensors";
  auto const run_with = [](optimizer_rule const& rule) {
    return trainer<reference<float>>(small, {.optimizer = {rule}, .workers = 2});
  };
  training whole = run_with(bounded_momentum{});
  whole.fit(examples.data(), {.batch = 8, .epochs = 2});
  training first = run_with(bounded_momentum{});
  first.fit(examples.data(), {.batch = 8, .epochs = 1});
  first.save(file, true);
  training second = run_with(bounded_momentum{});
  second.load(file);
  second.fit(examples.data(), {.batch = 8, .epochs = 1});
  EXPECT_EQ(second.checksum(), whole.checksum());

  training other = run_with(sgd{});
  std::string const text = refusal_of<data_error>([&] { other.load(file); });
  EXPECT_NE(text.find("state of bounded_momentum"), std::string::npos) << text;
}

TEST(own_optimizer, is_described_in_files_that_programs_without_its_type_read) {
  optimizer_settings const settings{.rule = bounded_momentum{.learning_rate = 0.25, .beta = 0.5},
                                    .bias_rule = adam_again{}};
  std::string const text = to_json(settings);
  EXPECT_NE(text.find("bounded_momentum"), std::string::npos) << text;
  io::json_document const document = io::parse_json(text, "test");
  optimizer_settings const read = optimizer_from_json(document.root());
  EXPECT_EQ(to_json(read), text);
  EXPECT_EQ(read.rule.name(), "bounded_momentum");
  EXPECT_EQ(read.rule.number("beta"), 0.5);
  EXPECT_EQ(read.rule.learning_rate(), rate_schedule(0.25));
  EXPECT_EQ(read, optimizer_from_json(document.root())) << "descriptions of the same optimizer are equal";
  std::string const refused =
      refusal_of<setting_error>([&] { trainer<reference<float>>(small, {.optimizer = read}); });
  EXPECT_NE(refused.find("does not have the type"), std::string::npos) << refused;
}

/// A document of bounded_momentum in which the first occurrence of `part` is replaced.
std::string document_with(std::string_view part, std::string const& replacement) {
  std::string text = to_json(optimizer_settings{.rule = bounded_momentum{}});
  return text.replace(text.find(part), part.size(), replacement);
}
std::string refusal_of_document(std::string const& text) {
  io::json_document const document = io::parse_json(text, "test");
  return refusal_of<data_error>([&] { optimizer_from_json(document.root()); });
}

TEST(own_optimizer, is_refused_in_a_file_with_invalid_names_or_further_fields) {
  auto const contains = [](std::string const& text, std::string_view part) {
    EXPECT_NE(text.find(part), std::string::npos) << text << part;
  };
  EXPECT_EQ(refusal_of_document(document_with("bounded_momentum", std::string(100, 'x'))), "");
  contains(refusal_of_document(document_with("bounded_momentum", std::string(101, 'x'))), "1 to 100 bytes");
  contains(refusal_of_document(document_with("bounded_momentum", "")), "1 to 100 bytes");
  contains(refusal_of_document(document_with("bounded_momentum", "adam")), "built-in");
  contains(refusal_of_document(document_with("\"beta\"", "\"\"")), "1 to 100 bytes");
  contains(refusal_of_document(document_with("\"own\"", R"("adam": {}, "own")")), "unknown field \"adam\"");
}

struct unnamed_state {
  static constexpr std::array<std::string_view, 1> states{""};
};
struct equal_states {
  static constexpr std::array<std::string_view, 2> states{"mean", "mean"};
};
struct state_in_a_folder {
  static constexpr std::array<std::string_view, 1> states{"mean/square"};
};
struct state_of_the_average {
  static constexpr std::array<std::string_view, 1> states{"average"};
};
static_assert(detail::has_state_names<adam_again>());
static_assert(!detail::has_state_names<unnamed_state>() && !detail::has_state_names<equal_states>());
static_assert(!detail::has_state_names<state_in_a_folder>());
static_assert(!detail::has_state_names<state_of_the_average>());

/// u = η·g / (|g| + epsilon)
struct drift {
  static constexpr std::string_view kind_name = "drift";
  static constexpr std::array<std::string_view, 0> states{};
  rate_schedule learning_rate = 0.1;
  double epsilon = 0;

  static constexpr auto fields() { return std::array{std::pair{"epsilon", &drift::epsilon}}; }
  std::array<double, 2> constants(optimizer_step const& next) const { return {next.rate, epsilon}; }
  template <class T>
  static T step(T g, T, T*, T const* c) {
    return c[0] * g / (std::abs(g) + c[1]);
  }
};

TEST(own_optimizer, must_not_move_padding_and_needs_finite_fields) {
  auto const refused = [](double epsilon) {
    return refusal_of<setting_error>([&] { optimizer_rule(drift{.epsilon = epsilon}).check(); });
  };
  EXPECT_NE(refused(0).find("padding"), std::string::npos);
  EXPECT_NE(refused(1e-50).find("computed in f32"), std::string::npos) << "1e-50 is 0 in f32";
  EXPECT_EQ(refused(1e-8), "");
  EXPECT_NE(
      refusal_of<setting_error>([] { optimizer_rule(bounded_momentum{.beta = NAN}).check(); }).find("beta"),
      std::string::npos);
  optimizer_rule(bounded_momentum{}).check();
}

// The last test, because it exhausts the descriptions of the process.
TEST(own_optimizer, of_files_is_one_of_at_most_1000_in_a_process) {
  int accepted = 0;
  std::string refused;
  while (accepted <= 1000 && refused.empty()) {
    refused = refusal_of_document(document_with("bounded_momentum", "other" + std::to_string(accepted)));
    accepted += refused.empty() ? 1 : 0;
  }
  EXPECT_NE(refused.find("at most 1000 different"), std::string::npos) << refused;
  EXPECT_GT(accepted, 900);
  EXPECT_LE(accepted, 1000);
  EXPECT_EQ(refusal_of_document(document_with("bounded_momentum", "other0")), "") << "a known description";
}

}  // namespace own_optimizer_test
