// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/detail/text_table.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/tensor/finite.hpp>
#include <cohort/training/detail/validation.hpp>
#include <cohort/training/evaluation_listener.hpp>
#include <optional>
#include <utility>

namespace cohort {

evaluation_listener::evaluation_listener(dataset data, evaluation_listener_settings settings)
    : evaluation_listener(settings, [data = std::move(data), metrics = settings.metrics](
                                        training& run, evaluation_settings const& how) {
        return metrics.empty() ? line_of(run.evaluate(data, how), how) : line_of(metrics, data, run, how);
      }) {}

evaluation_listener::evaluation_listener(dataset data, std::vector<evaluator*> reports,
                                         std::function<std::string()> line,
                                         evaluation_listener_settings settings)
    : evaluation_listener(std::move(settings),
                          [data = std::move(data), reports = std::move(reports), line = std::move(line)](
                              training& run, evaluation_settings const& how) {
                            for (evaluator* const one : reports) one->clear();
                            run.evaluate(data, reports, how);
                            return line ? line() : std::string();
                          }) {}

void evaluation_listener::on_epoch(training& run, epoch_report const& done) {
  if ((done.epoch + 1) % settings_.every != 0) return;
  std::string const line = evaluate_(run, settings_.how);
  if (run.world().rank() == 0 && !line.empty())
    settings_.lines(detail::text_of({"epoch ", done.epoch + 1, ": ", line}));
}

std::string evaluation_listener::name() const {
  return detail::text_of({"evaluation every ", settings_.every, " epochs"});
}

evaluation_listener::evaluation_listener(evaluation_listener_settings settings, evaluation evaluate)
    : settings_(std::move(settings)), evaluate_(std::move(evaluate)) {
  if (settings_.every < 1)
    throw setting_error({.what = "invalid evaluation interval",
                         .where = "evaluation_listener",
                         .expected = "every ≥ 1 epoch",
                         .got = {settings_.every}});
  if (!settings_.lines) settings_.lines = silent_sink();
}

std::string evaluation_listener::line_of(classification_report const& seen, evaluation_settings const& how) {
  auto const percent = [](double share) { return detail::decimal_text(100 * share, 2) + " %"; };
  if (seen.examples() == 0) return "no examples to evaluate";
  std::string line = "accuracy " + percent(*seen.accuracy());
  if (how.top > 1) line += detail::text_of({", top-", how.top, " ", percent(*seen.top_accuracy())});
  if (auto const loss = seen.log_loss()) line += ", log loss " + detail::decimal_text(loss, 4);
  return line;
}

std::string evaluation_listener::line_of(std::vector<metric> const& metrics, dataset const& data,
                                         training& run, evaluation_settings const& how) {
  detail::validation const measured(run.state(), data, metrics, how.sharding);
  std::string line;
  for (metric_value const& one : measured.measure_all(run, how))
    if (std::ranges::find(metrics, one.name, &metric::name) != metrics.end())
      line += detail::text_of(
          {line.empty() ? "" : ", ", one.name, " ",
           detail::decimal_text(is_finite(one.value) ? std::optional(one.value) : std::nullopt, 4)});
  return line;
}

}  // namespace cohort
