// SPDX-License-Identifier: Apache-2.0
// needs: onednn
// Cross-validates a network on the folds of a table, and prints the mean score as JSON:
//   train_table accuracy|r2 FOLDER SEED EPOCHS BATCH RATE PENALTY UNITS...
// Its counterpart sklearn_accuracy.py explains the arguments and writes FOLDER. compare_accuracy.py runs
// both.
#include "arguments.hpp"
#include "context.hpp"
#include "stopwatch.hpp"

#include <cmath>
#include <cohort/data/read_table.hpp>
#include <cohort/graph/graph.hpp>
#include <cohort/layer/layers.hpp>
#include <cohort/onednn.hpp>
#include <cohort/training/trainer.hpp>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace benchmarks;
using namespace cohort;

/// `p` is the probability of class 1; the target is 0 or 1.
double is_correct(tensor_view p, tensor_view target) {
  return (p.as<float>()[0] > 0.5F) == (target.as<float>()[0] > 0.5F) ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) try {
  std::string_view const wanted = argc > 1 ? argv[1] : "";
  if (argc < 9 || (wanted != "accuracy" && wanted != "r2")) {
    std::fprintf(stderr, "usage: train_table accuracy|r2 FOLDER SEED EPOCHS BATCH RATE PENALTY UNITS...\n");
    return 2;
  }
  bool const classifies = wanted == "accuracy";
  std::string const folder = argv[2];
  int const seed = whole_number(argv[3], "SEED"), epochs = whole_number(argv[4], "EPOCHS"),
            batch = whole_number(argv[5], "BATCH");
  double const rate = real_number(argv[6], "RATE"), penalty = real_number(argv[7], "PENALTY");
  std::vector<int> units;
  for (int i = 8; i < argc; ++i) units.push_back(whole_number(argv[i], "UNITS"));

  std::vector<double> scores;
  double training_seconds = 0;
  for (std::string number = "0"; std::filesystem::exists(folder + "/training_" + number + ".csv");
       number = std::to_string(scores.size())) {
    data_table const seen = read_table(folder + "/training_" + number + ".csv"),
                     held_out = read_table(folder + "/held_out_" + number + ".csv");
    table_examples const parts{.target = seen.columns().back(), .regression = true};
    dataset const training_rows = seen.examples(parts), held_out_rows = held_out.examples(parts);
    graph const net = graph::build([&](builder& b) {
      tensor x = b.input(training_rows.describe().inputs[0].example);
      for (int const width : units) x = x | dense{.units = width} | relu{};
      x = x | dense{.units = 1};
      // scikit-learn's regression loss is half the squared error.
      return classifies ? x | binary_cross_entropy{} : x | mean_squared_error{.weight = 0.5};
    });
    // scikit-learn divides the penalty's gradient by the batch size, and draws weights and biases from the
    // same distribution.
    training model =
        trainer<onednn>(net, {.optimizer = {.rule = adam{.learning_rate = rate}, .l2 = penalty / batch},
                              .weights = init::xavier_uniform{},
                              .bias = init::xavier_uniform{},
                              .seed = static_cast<std::uint64_t>(seed)});
    training_seconds += seconds([&] {
      model.normalise(training_rows, {.targets = classifies ? rescaling::none : rescaling::standardise});
      model.fit(training_rows, {.batch = batch, .epochs = epochs});
    });
    metric const score = classifies ? metrics::mean_of("accuracy", is_correct) : metric(metrics::r2);
    scores.push_back(score.on(held_out_rows).of(model));
  }
  if (scores.empty()) {
    std::fprintf(stderr,
                 "train_table: FOLDER: expected training_0.csv, written by sklearn_accuracy.py, got %s\n",
                 folder.c_str());
    return 2;
  }
  std::string folds;
  for (double const score : scores) folds += (folds.empty() ? "" : ", ") + std::to_string(score);
  std::printf(
      "{\"by\": \"cohort\", \"commit\": \"%s\", \"compiler\": \"%s\", \"metric\": \"%s\", \"score\": %.6f, "
      "\"folds\": [%s], \"seconds\": %.2f}\n",
      commit().c_str(), compiler().c_str(), argv[1],
      std::reduce(scores.begin(), scores.end()) / static_cast<double>(scores.size()), folds.c_str(),
      training_seconds);
} catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
