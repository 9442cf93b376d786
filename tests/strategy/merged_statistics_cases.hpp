// SPDX-License-Identifier: Apache-2.0
#pragma once
// Running statistics over workers, ranks and micro-batches, compared with a merge in f64 of the statistics
// that the backend computes for each part alone.
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <cohort/communicator/launch.hpp>
#include <cohort/data/arrays.hpp>
#include <cohort/execution/partition.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/random/stream.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/strategy/parameter_averaging.hpp>
#include <cohort/training/trainer.hpp>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace merged_statistics {

using namespace cohort;

constexpr int channels = 16, area = 4;
constexpr double kept = 0.75;

/// Images with a mean of `offset` and a deviation of about 1 in each channel. The images' means differ, so
/// the parts of a batch differ.
struct images {
  int count;
  std::vector<float> pixels;
  std::vector<std::int32_t> labels;

  images(int n, double offset) : count(n) {
    random_stream const noise(11, "images");
    for (int i = 0; i < n * channels * area; ++i) {
      int const image = i / (channels * area), channel = i / area % channels;
      double const mean = offset * (1 + channel / 16.0) + 0.5 * noise.normal<double>(1'000'000 + image);
      pixels.push_back(static_cast<float>(mean + noise.normal<double>(static_cast<std::uint64_t>(i))));
    }
    for (int i = 0; i < n; ++i) labels.push_back(i % 2);
  }
  /// Images first … first + n − 1.
  dataset data(std::int64_t first, std::int64_t n) const {
    auto const begin = static_cast<std::size_t>(first), size = static_cast<std::size_t>(n);
    return arrays(std::span(pixels).subspan(begin * channels * area, size * channels * area),
                  shape{channels, 2, 2}, std::span(labels).subspan(begin, size), 2);
  }
};

template <class Norm>
graph normed(double weight_of_old) {
  return graph::build([=](builder& b) {
    return b.input({channels, 2, 2}) | Norm{.momentum = weight_of_old, .name = "norm"} | dense{.units = 2}
           | softmax_cross_entropy{};
  });
}

struct statistics {
  std::vector<double> mean, variance;
};

inline statistics statistics_of(training const& of, std::size_t of_channels = channels) {
  parameter_set const& all = of.parameters();
  auto const read = [&](std::string const& name) {
    for (std::size_t p = 0; p < all.table().size(); ++p) {
      if (all.table()[p].name != name) continue;
      std::vector<float> dense(of_channels);
      all.read(static_cast<int>(p), all.master(), reinterpret_cast<std::byte*>(dense.data()));
      return std::vector<double>(dense.begin(), dense.end());
    }
    ADD_FAILURE() << "no parameter " << name;
    return std::vector<double>(of_channels);
  };
  return {read("norm.running_mean"), read("norm.running_variance")};
}

/// How a batch is split.
struct partition {
  int ranks = 1, workers = 1, micro_batches = 1;
};

inline std::string to_text(partition const& of, double offset) {
  return std::to_string(of.ranks) + " ranks, " + std::to_string(of.workers) + " workers, "
         + std::to_string(of.micro_batches) + " micro-batches, offset " + std::to_string(offset);
}

template <class Backend, class Norm>
class comparison {
 public:
  /// The last batch of the images is smaller, so parts have different sizes, and some are empty.
  static constexpr int images_of_a_step = 24, images_of_the_last = 7,
                       images_in_all = 2 * images_of_a_step + images_of_the_last;

  explicit comparison(double offset) : images_(images_in_all, offset) {}

  statistics trained(partition const& how) const {
    statistics found;
    std::vector<std::string> texts(static_cast<std::size_t>(how.ranks));
    launch<threads>(how.ranks, [&](communicator& world) {
      training made = trainer<Backend>(normed<Norm>(kept), world, allreduce{},
                                       {.optimizer = {sgd{.learning_rate = 0}}, .workers = how.workers});
      made.fit(images_.data(0, images_in_all), {.batch = images_of_a_step / how.ranks,
                                                .epochs = 1,
                                                .shuffle = false,
                                                .accumulate = how.micro_batches});
      if (world.rank() == 0) found = statistics_of(made);
      for (auto const& values : {statistics_of(made).mean, statistics_of(made).variance})
        for (double const value : values)
          texts[static_cast<std::size_t>(world.rank())] += std::to_string(value) + ' ';
    });
    for (std::string const& one : texts) EXPECT_EQ(one, texts[0]) << "ranks differ";
    return found;
  }

  /// The merge in f64 of the parts' statistics, over all steps.
  statistics wanted(partition const& how) {
    statistics running{std::vector<double>(channels, 0), std::vector<double>(channels, 1)};
    for (int first = 0; first < images_in_all; first += images_of_a_step) {
      std::vector<index_slice> parts;
      index_slice const step{first, std::min(images_of_a_step, images_in_all - first)};
      for (int r = 0; r < how.ranks; ++r)
        for (int w = 0; w < how.workers; ++w) {
          index_slice const rows = part_of(part_of(step, r, how.ranks), w, how.workers);
          auto const micro_batches = static_cast<int>(std::min<std::int64_t>(rows.count, how.micro_batches));
          for (int m = 0; m < micro_batches; ++m) parts.push_back(part_of(rows, m, micro_batches));
        }
      for (std::size_t c = 0; c < channels; ++c) {
        long double mean = 0, variance = 0;
        auto const share = [&](index_slice const& of) {
          return static_cast<long double>(of.count) / static_cast<long double>(step.count);
        };
        for (index_slice const& one : parts) mean += share(one) * of_part(one).mean[c];
        for (index_slice const& one : parts)
          variance +=
              share(one)
              * (of_part(one).variance[c] + (of_part(one).mean[c] - mean) * (of_part(one).mean[c] - mean));
        running.mean[c] = kept * running.mean[c] + (1 - kept) * static_cast<double>(mean);
        running.variance[c] = kept * running.variance[c] + (1 - kept) * static_cast<double>(variance);
      }
    }
    return running;
  }

  void expect_merged(partition const& how, double offset) {
    SCOPED_TRACE(to_text(how, offset));
    statistics const got = trained(how), merged = wanted(how);
    for (std::size_t c = 0; c < channels; ++c) {
      EXPECT_GE(got.variance[c], 0) << c;
      EXPECT_NEAR(got.variance[c], merged.variance[c], 1e-5 * merged.variance[c]) << c;
      EXPECT_NEAR(got.mean[c], merged.mean[c], 1e-6 * std::abs(merged.mean[c])) << c;
    }
  }

 private:
  /// The statistics that the backend computes for a part alone: one step with momentum 0 stores them. A
  /// synchronised norm has the statistics of the whole step.
  statistics const& of_part(index_slice const& rows) {
    auto const found = parts_.find({rows.first, rows.count});
    if (found != parts_.end()) return found->second;
    training made = trainer<Backend>(normed<Norm>(0), {.optimizer = {sgd{.learning_rate = 0}}});
    made.fit(images_.data(rows.first, rows.count),
             {.batch = static_cast<int>(rows.count), .epochs = 1, .shuffle = false});
    return parts_[{rows.first, rows.count}] = statistics_of(made);
  }

  images images_;
  std::map<std::pair<std::int64_t, std::int64_t>, statistics> parts_;
};

/// Sequences of 40, 40, 1 and 1 steps before a loss per example: each split gives the statistics of all
/// unmasked steps, although the halves of the batch have the same number of examples.
template <class Backend>
void count_unmasked_steps() {
  constexpr int examples = 4, steps = 40;
  random_stream const noise(3, "steps");
  std::vector<float> values;
  std::vector<std::uint8_t> mask;
  std::vector<std::int32_t> const labels{0, 1, 0, 1};
  double mean = 0, count = 0, variance = 0;
  for (int n = 0; n < examples; ++n)
    for (int t = 0; t < steps; ++t) {
      values.push_back(static_cast<float>((n < 2 ? 0 : 10) + noise.normal<double>(values.size())));
      mask.push_back(n < 2 || t == 0);
      if (mask.back()) mean += static_cast<double>(values.back()), ++count;
    }
  mean /= count;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (mask[i])
      variance += (static_cast<double>(values[i]) - mean) * (static_cast<double>(values[i]) - mean) / count;
  graph const net = graph::build([](builder& b) {
    return b.masked_input({steps, 1}) | batch_norm{.momentum = 0, .name = "norm"} | global_avg_pool{}
           | dense{.units = 2} | softmax_cross_entropy{};
  });
  batch_view data;
  data.inputs = {tensor_view(values.data(), {examples, steps, 1})};
  data.masks = {tensor_view(mask.data(), {examples, steps})};
  data.targets = {tensor_view(labels.data(), shape{examples})};
  data.count = examples;
  for (partition const& how :
       {partition{1, 1, 1}, partition{1, 2, 1}, partition{1, 1, 2}, partition{1, 2, 2}}) {
    SCOPED_TRACE(to_text(how, 0));
    training made = trainer<Backend>(net, {.optimizer = {sgd{.learning_rate = 0}}, .workers = how.workers});
    made.train_on(data, how.micro_batches);
    statistics const got = statistics_of(made, 1);
    EXPECT_NEAR(got.mean[0], mean, 1e-5);
    EXPECT_NEAR(got.variance[0], variance, 1e-5 * variance);
  }
}

/// Every split of 1 to 4 ranks, 1 to 4 workers and 1 to 3 micro-batches.
template <class Backend, class Norm>
void merge_like_f64(std::vector<double> const& offsets) {
  for (double const offset : offsets) {
    comparison<Backend, Norm> all(offset);
    for (int ranks = 1; ranks <= 4; ++ranks)
      for (int workers = 1; workers <= 4; ++workers)
        for (int micro_batches = 1; micro_batches <= 3; ++micro_batches) {
          all.expect_merged({ranks, workers, micro_batches}, offset);
          if (testing::Test::HasFailure()) return;
        }
  }
}

}  // namespace merged_statistics
