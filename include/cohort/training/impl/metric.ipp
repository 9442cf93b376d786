// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cohort/detail/hash.hpp>
#include <cohort/detail/text.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/evaluation/classification.hpp>
#include <cohort/evaluation/detail/compensated_sum.hpp>
#include <cohort/evaluation/detail/report_bytes.hpp>
#include <cohort/evaluation/regression.hpp>
#include <cohort/evaluation/roc.hpp>
#include <cohort/tensor/finite.hpp>
#include <cohort/training/metric.hpp>
#include <utility>
#include <vector>

namespace cohort::detail {

int size_of_output(shape const& output) { return static_cast<int>(output.elements()); }

/// Returns a classification report with top-k accuracy.
std::unique_ptr<classification_report> classes_of(char const* metric, shape const& output,
                                                  tensor_description const& target, int top = 1) {
  if (target.type != element_type::i32)
    throw setting_error({.what = "this metric got targets that are not class labels",
                         .where = {"metric ", metric},
                         .expected = text_of_part({}, element_type::i32),
                         .got = text_of_part(target.example, target.type)});
  if (top < 1 || top > size_of_output(output))
    throw setting_error({.what = "the k of a top-k accuracy is out of range",
                         .where = {"metric ", metric},
                         .expected = {"1 to ", size_of_output(output), ", the number of classes"},
                         .got = {top}});
  return std::make_unique<classification_report>(size_of_output(output), classification_options{.top = top});
}

/// Returns a measure that reads one number of a regression report.
metric_measure errors_of(char const* metric, shape const& output, tensor_description const& target,
                         std::optional<double> (regression_report::*number)() const) {
  if (target.type == element_type::i32 || (target.example != output && target.example.batched(1) != output))
    throw setting_error({.what = "this metric needs numeric targets with the shape of the output",
                         .where = {"metric ", metric},
                         .expected = {text_of_part(output, element_type::f32), " or the backend's type"},
                         .got = text_of_part(target.example, target.type)});
  auto made = std::make_unique<regression_report>(size_of_output(output));
  auto const value = [of = made.get(), number] { return (of->*number)(); };
  return {std::move(made), value};
}

metric_measure measure_accuracy(shape const& output, tensor_description const& target) {
  auto made = classes_of("accuracy", output, target);
  auto const value = [of = made.get()] { return of->accuracy(); };
  return {std::move(made), value};
}

metric_measure measure_log_loss(shape const& output, tensor_description const& target) {
  auto made = classes_of("log loss", output, target);
  auto const value = [of = made.get()] { return of->log_loss(); };
  return {std::move(made), value};
}

metric_measure measure_perplexity(shape const& output, tensor_description const& target) {
  auto made = classes_of("perplexity", output, target);
  auto const value = [of = made.get()]() -> std::optional<double> {
    std::optional<double> const mean = of->log_loss();
    return mean ? std::optional(std::exp(*mean)) : std::nullopt;
  };
  return {std::move(made), value};
}

metric_measure measure_rmse(shape const& output, tensor_description const& target) {
  return errors_of("rmse", output, target, &regression_report::rmse);
}

metric_measure measure_mae(shape const& output, tensor_description const& target) {
  return errors_of("mae", output, target, &regression_report::mae);
}

metric_measure measure_r2(shape const& output, tensor_description const& target) {
  return errors_of("r2", output, target, &regression_report::r2);
}

metric_measure measure_auc(shape const& output, tensor_description const&) {
  auto made = std::make_unique<roc_report>(size_of_output(output));
  auto const value = [of = made.get()] { return of->auc(); };
  return {std::move(made), value};
}

/// Mean of a function of output and target over the examples.
class mean_evaluator final : public evaluator {
 public:
  explicit mean_evaluator(std::function<double(tensor_view, tensor_view)> of_example)
      : of_example_(std::move(of_example)) {}

  void add(tensor_view outputs, tensor_view targets, std::optional<std::int64_t> first) override {
    compensated_sum sum = sum_;
    for (int n = 0; n < outputs.dims[0]; ++n) {
      double const number = of_example_(example(outputs, n), example(targets, n));
      if (!is_finite(number) || std::abs(number) > largest)
        throw data_error({.what = "the function of a metric returned an unusable number",
                          .where = {"example ", first.value_or(count_) + n},
                          .expected = "a finite number of magnitude at most 1e150",
                          .got = {number}});
      sum.add(number);
    }
    sum_ = sum;
    count_ += outputs.dims[0];
  }
  std::vector<std::byte> to_bytes() const override {
    report_writer bytes;
    bytes.natural(kind).natural(static_cast<std::uint64_t>(count_)).real(sum_.sum).real(sum_.compensation);
    return bytes.release();
  }
  void merge(std::span<std::byte const> from) override {
    report_reader in(from);
    in.natural("kind of report", kind, kind);
    std::int64_t const count = in.count("examples", 0, (std::int64_t{1} << 53) - count_);
    compensated_sum part;
    part.sum = in.real("sum", -total, total);
    part.compensation = in.real("compensation", -total, total);
    in.end();
    if (count > 0) sum_.add(part);
    count_ += count;
  }
  void clear() override {
    sum_ = {};
    count_ = 0;
  }
  std::optional<double> mean() const {
    return count_ > 0 ? std::optional(sum_.value() / static_cast<double>(count_)) : std::nullopt;
  }

 private:
  static constexpr std::uint64_t kind = fnv1a("cohort mean 1");
  static constexpr double largest = 1e150, total = 1e300;

  static tensor_view example(tensor_view const& all, int n) {
    tensor_view one = all.rows(n, 1);
    one.dims = all.dims.example();
    return one;
  }

  std::function<double(tensor_view, tensor_view)> of_example_;
  compensated_sum sum_;
  std::int64_t count_ = 0;
};

built_in_metric::operator metric() const {
  return {.name = std::string(name), .more_is_better = more_is_better, .of_outputs = of_outputs};
}

metric built_in_metric::on(dataset data, evaluation_settings how) const {
  return metric(*this).on(std::move(data), how);
}

}  // namespace cohort::detail

namespace cohort {

metric metric::on(dataset data, evaluation_settings how) const {
  if (of)
    throw setting_error({.what = "this metric is not computed from outputs and targets",
                         .where = {"metric ", name},
                         .expected = "a metric with of_outputs",
                         .got = "a metric with of"});
  metric bound{.name = name, .more_is_better = more_is_better};
  bound.of = [data = std::move(data), how, self = *this](training& run) {
    return detail::value_of(self, run, data, how);
  };
  return bound;
}

metric metrics::top_k(int k) {
  std::string const name = detail::text_of({"top-", k, " accuracy"});
  return {.name = name, .of_outputs = [k, name](shape const& output, tensor_description const& target) {
            auto made = detail::classes_of(name.c_str(), output, target, k);
            auto const value = [of = made.get()] { return of->top_accuracy(); };
            return metric_measure{std::move(made), value};
          }};
}

metric metrics::mean_of(std::string name, std::function<double(tensor_view, tensor_view)> of_example,
                        bool more_is_better) {
  return {.name = std::move(name),
          .more_is_better = more_is_better,
          .of_outputs = [of_example = std::move(of_example)](shape const&, tensor_description const&) {
            auto made = std::make_unique<detail::mean_evaluator>(of_example);
            auto const value = [of = made.get()] { return of->mean(); };
            return metric_measure{std::move(made), value};
          }};
}

}  // namespace cohort
