// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/dataset.hpp>
#include <cohort/evaluation/evaluator.hpp>
#include <cohort/tensor/shape.hpp>
#include <cohort/tensor/view.hpp>
#include <cohort/training/evaluation_settings.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace cohort {

class training;

/// An evaluator, and a function that reads the metric's number from it; nullopt: undefined for these
/// examples.
struct metric_measure {
  std::unique_ptr<evaluator> report;
  std::function<std::optional<double>()> value;
};

/// A measure of a run's quality: metrics::accuracy, metrics::top_k(5), or a function of the user.
///
/// `name`            heading of the metric's column in a history, and of its number in lines of listeners
/// `of`              returns the number for a run, for example by evaluating a separate data set. Every rank
///                   makes the calls in the same order and gets the same number; NaN: undefined
/// `more_is_better`  whether a larger number is better; used by early stopping
/// `of_outputs`      used instead of `of`: returns an evaluator, which gets the outputs of the first loss and
///                   their targets, and a function that reads the number from the evaluator. Arguments: the
///                   shape of an example's output, and the description of the target in the data set. Throws
///                   setting_error if the metric does not apply to this output and target.
struct metric {
  std::string name{};
  std::function<double(training&)> of{};
  bool more_is_better = true;
  std::function<metric_measure(shape const&, tensor_description const&)> of_outputs{};

  /// Returns this metric, computed on `data` whenever the number is read.
  metric on(dataset data, evaluation_settings how = {}) const;
};

namespace detail {

/// A metric of the library, as a constant.
struct built_in_metric {
  std::string_view name;
  metric_measure (*of_outputs)(shape const& output, tensor_description const& target);
  bool more_is_better;

  operator metric() const;
  metric on(dataset data, evaluation_settings how = {}) const;
};

/// Returns the value of a metric with `of_outputs` on a data set.  Order: collective.
double value_of(metric const& of, training& run, dataset const& data, evaluation_settings const& how);

metric_measure measure_accuracy(shape const& output, tensor_description const& target);
metric_measure measure_log_loss(shape const& output, tensor_description const& target);
metric_measure measure_perplexity(shape const& output, tensor_description const& target);
metric_measure measure_rmse(shape const& output, tensor_description const& target);
metric_measure measure_mae(shape const& output, tensor_description const& target);
metric_measure measure_r2(shape const& output, tensor_description const& target);
metric_measure measure_auc(shape const& output, tensor_description const& target);

}  // namespace detail

/// Metrics of the outputs and targets of the network's first loss:
///
///     run.fit(data, {.epochs = 5, .validation = held, .metrics = {metrics::accuracy, metrics::top_k(5)}});
///
/// Units     targets and outputs are in their original units, even with training::normalise. Only `loss` is
///           in the units of training, and only `loss` uses the examples' weights. Examples of weight 0 do
///           not count in any metric.
/// Exact     as classification_report, regression_report and roc_report define them. For a regression with
///           several outputs: the mean over the outputs.
namespace metrics {

/// Mean of the network's total loss, the sum of all its losses, in inference mode: "validation loss".
inline constexpr detail::built_in_metric loss{"validation loss", nullptr, false};
/// Fraction of examples whose class has the highest score.
inline constexpr detail::built_in_metric accuracy{"accuracy", detail::measure_accuracy, true};
/// Mean of −ln p(label).
inline constexpr detail::built_in_metric log_loss{"log loss", detail::measure_log_loss, false};
/// exp of the log loss; for a language model, the perplexity per token. Ignored targets and padding do not
/// count.
inline constexpr detail::built_in_metric perplexity{"perplexity", detail::measure_perplexity, false};
/// Square root of the mean squared error.
inline constexpr detail::built_in_metric rmse{"rmse", detail::measure_rmse, false};
/// Mean absolute error.
inline constexpr detail::built_in_metric mae{"mae", detail::measure_mae, false};
/// 1 − Σ (output − target)² / Σ (target − mean)²; see regression_report::r2.
inline constexpr detail::built_in_metric r2{"r2", detail::measure_r2, true};
/// Area under the ROC curve; for several classes the mean over the classes, each against all others.
inline constexpr detail::built_in_metric auc{"auc", detail::measure_auc, true};

/// Fraction of examples whose class is among the k highest scores: "top-5 accuracy".
metric top_k(int k);

/// The mean of `of_example` over the examples. `of_example` gets the output and the target of one example.
///
/// Shapes    output: shape of the first loss's output, f32 or f64; target: as in the data set.
metric mean_of(std::string name, std::function<double(tensor_view output, tensor_view target)> of_example,
               bool more_is_better = true);

}  // namespace metrics

}  // namespace cohort
