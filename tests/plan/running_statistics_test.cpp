// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>
#include <cohort/data/arrays.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/plan/detail/running_statistics.hpp>
#include <cohort/plan/make_plan.hpp>
#include <cohort/plan/parameter_store.hpp>
#include <cohort/trainer/trainer.hpp>

#include <cmath>
#include <string>
#include <vector>

namespace running_statistics_test {

using namespace cohort;
using B = reference<double>;

/// Two channels of 2×3 elements. Each example has a different mean, so that parts of a batch differ.
struct examples {
  static constexpr int channels = 2, area = 6;
  int count;
  std::vector<float> pixels;
  std::vector<std::int32_t> labels;

  explicit examples(int n) : count(n) {
    random_stream const noise(5, "examples");
    for (int i = 0; i < n * channels * area; ++i)
      pixels.push_back(noise.normal<float>(static_cast<std::uint64_t>(i))
                       + static_cast<float>(i / (channels * area)));
    for (int i = 0; i < n; ++i) labels.push_back(i % 3);
  }
  dataset data() const {
    return arrays(std::span<float const>(pixels), shape{channels, 2, 3},
                  std::span<std::int32_t const>(labels), 3);
  }
  /// Mean and biased variance of a channel over examples first … last − 1, by two plain sums.
  std::pair<double, double> statistics(int channel, int first, int last) const {
    double sum = 0, squares = 0;
    for (int pass = 0; pass < 2; ++pass)
      for (int n = first; n < last; ++n)
        for (int i = 0; i < area; ++i) {
          double const x = pixels[static_cast<std::size_t>((n * channels + channel) * area + i)];
          if (pass == 0)
            sum += x;
          else
            squares += std::pow(x - sum / ((last - first) * area), 2);
        }
    return {sum / ((last - first) * area), squares / ((last - first) * area)};
  }
};

/// The first layer normalises the batch itself, so its statistics depend on the data only.
graph const net = graph::build([](builder& b) {
  return b.input({2, 2, 3}) | batch_norm{.name = "norm"} | conv2d{.filters = 3, .kernel = 2} | relu{}
      | batch_norm{.momentum = 0.5} | dense{.units = 3} | softmax_cross_entropy{};
});

std::vector<double> values(training const& of, std::string const& name) {
  parameter_set const& all = of.parameters();
  for (std::size_t p = 0; p < all.table().size(); ++p) {
    if (all.table()[p].name != name) continue;
    std::vector<double> dense(static_cast<std::size_t>(all.table()[p].spec.dims.elements()));
    all.read(static_cast<int>(p), all.master(), reinterpret_cast<std::byte*>(dense.data()));
    return dense;
  }
  ADD_FAILURE() << "no parameter " << name;
  return {};
}

training trained(int workers, examples const& data, fit_settings const& how) {
  training made = trainer<B>(net, {.updater = sgd{.rate = 0.1}, .seed = 3, .workers = workers});
  made.fit(data.data(), how);
  return made;
}

TEST(running_statistics, follow_the_whole_batch_for_any_number_of_workers) {
  examples const data(
      20);  // batches of 8, 8 and 4: parts of 3, 3 and 2, and of 2, 1 and 1 examples with three workers
  for (int workers : {1, 2, 3}) {
    training const made = trained(workers, data, {.batch = 8, .epochs = 2, .shuffle = false});
    for (int c = 0; c < examples::channels; ++c) {
      double mean = 0, variance = 1;
      for (int epoch = 0; epoch < 2; ++epoch)
        for (int first = 0; first < 20; first += 8) {
          auto const [of_batch, spread] = data.statistics(c, first, std::min(first + 8, 20));
          mean = 0.9 * mean + 0.1 * of_batch;
          variance = 0.9 * variance + 0.1 * spread;
        }
      EXPECT_NEAR(values(made, "norm.running_mean")[std::size_t(c)], mean, 1e-12) << workers << " workers";
      EXPECT_NEAR(values(made, "norm.running_variance")[std::size_t(c)], variance, 1e-11)
          << workers << " workers";
    }
  }
}

TEST(running_statistics, are_equal_after_layers_with_equal_parts) {
  examples data(6);  // six equal examples, so parts of every size are normalised equally
  for (std::size_t i = 12; i < data.pixels.size(); ++i) data.pixels[i] = data.pixels[i % 12];
  std::fill(data.labels.begin(), data.labels.end(), 1);
  training const one = trained(1, data, {.batch = 6, .epochs = 3});
  for (int workers : {2, 3}) {
    training const made = trained(workers, data, {.batch = 6, .epochs = 3});
    for (parameter const& p : one.parameters().table()) {
      auto const got = values(made, p.name), wanted = values(one, p.name);
      for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-12) << p.name;
    }
  }
  EXPECT_NE(values(one, "batch_norm_2.running_mean"), (std::vector<double>{0, 0, 0}));
}

TEST(running_statistics, weight_examples) {
  // Two parts of three and one examples, of weights 1 and 5: a = 3/8 and 5/8.
  auto const store = std::make_shared<parameter_store<B>>(B{}, net);
  auto const plan = make_plan(store, net, {.batch = 1});
  store->initialise(1);
  std::vector<std::vector<double>> parts(2, std::vector<double>(store->arena_elements()));
  auto const table = store->table();
  auto const where = [&](std::string const& name) {
    for (parameter const& p : table)
      if (p.name == name) return p.offset;
    throw std::out_of_range(name);
  };
  std::size_t const mean = where("norm.running_mean"), variance = where("norm.running_variance");
  double const a[]{3.0 / 8, 5.0 / 8}, b[]{2, -1}, s[]{4, 0.5};
  for (std::size_t part = 0; part < 2; ++part) {
    parts[part][mean] = a[part] * (b[part] - 0);
    parts[part][variance] = a[part] * (s[part] + b[part] * b[part]);
  }
  std::byte* const arenas[]{reinterpret_cast<std::byte*>(parts[0].data()),
                            reinterpret_cast<std::byte*>(parts[1].data())};
  int const last = static_cast<int>(table.size());
  std::vector<std::byte> const before(store->master(), store->master() + store->arena_bytes());
  detail::follow_statistics(*store, arenas, {.first = last});
  EXPECT_EQ(std::memcmp(before.data(), store->master(), before.size()), 0) << "none of these are statistics";
  detail::follow_statistics(*store, arenas, {.last = last});
  double const whole = a[0] * b[0] + a[1] * b[1];
  double const spread = a[0] * (s[0] + std::pow(b[0] - whole, 2)) + a[1] * (s[1] + std::pow(b[1] - whole, 2));
  auto const* const master = reinterpret_cast<double const*>(store->master());
  EXPECT_NEAR(master[mean], 0.1 * whole, 1e-15);
  EXPECT_NEAR(master[variance], 0.9 + 0.1 * spread, 1e-15);
}

}  // namespace running_statistics_test
