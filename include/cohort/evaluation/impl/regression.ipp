// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cohort/detail/text_table.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/evaluation/detail/optional_mean.hpp>
#include <cohort/evaluation/detail/report_bytes.hpp>
#include <cohort/evaluation/regression.hpp>
#include <utility>

namespace cohort {

regression_report::regression_report(int columns, regression_options options)
    : labels_(columns, std::move(options.labels)), columns_(static_cast<std::size_t>(columns)) {}

void regression_report::add(tensor_view outputs, tensor_view targets, std::optional<std::int64_t> first) {
  check(outputs, targets);
  for (int n = 0; n < outputs.dims[0]; ++n)
    for (int c = 0; c < columns(); ++c)
      for (tensor_view const* from : {&outputs, &targets})
        if (double const x = at(*from, n, c); !(std::abs(x) < magnitude_limit))
          throw data_error({.what = "cannot evaluate this example",
                            .where = {"example ", first.value_or(examples()) + n},
                            .expected = "finite numbers of magnitude below 1e150",
                            .got = {from == &outputs ? "output " : "target ", x, " in column ", c}});
  if (outputs.dims[0] == 0) return;
  for (int c = 0; c < columns(); ++c) {
    column& one = columns_[static_cast<std::size_t>(c)];
    struct pair {
      double x, y;
    };
    auto const of = [&](int n) { return pair{at(outputs, n, c), at(targets, n, c)}; };
    one.moments.add(detail::paired_moments::of(outputs.dims[0], of));
    for (int n = 0; n < outputs.dims[0]; ++n) {
      double const error = of(n).x - of(n).y;
      one.absolute.add(std::abs(error));
      one.squared.add(error * error);
    }
  }
}

std::vector<std::byte> regression_report::to_bytes() const {
  detail::report_writer out;
  out.natural(kind()).natural(columns_.size()).natural(labels_.hash());
  out.natural(static_cast<std::uint64_t>(examples()));
  for (column const& one : columns_) {
    detail::paired_moments const& m = one.moments;
    for (double const number : {one.absolute.sum, one.absolute.compensation, one.squared.sum,
                                one.squared.compensation, m.x0, m.y0, m.x, m.y, m.xx, m.yy, m.xy})
      out.real(number);
  }
  return out.release();
}

void regression_report::merge(std::span<std::byte const> bytes) {
  detail::report_reader in(bytes);
  auto const require = [&](std::string_view what, std::uint64_t number) { in.natural(what, number, number); };
  require("kind of report", kind());
  require("columns", columns_.size());
  require("hash of the labels", labels_.hash());
  std::int64_t const count = in.count("examples", 0, (std::int64_t{1} << 53) - examples());
  std::vector<column> all = columns_;
  for (column& one : all) {
    constexpr double large = 1e305;
    column part;
    for (auto [what, errors] :
         {std::pair("absolute errors", &part.absolute), std::pair("squared errors", &part.squared)}) {
      errors->sum = in.real(what, 0, large);
      errors->compensation = in.real(what, -1e-6 * errors->sum, 1e-6 * errors->sum);
    }
    detail::paired_moments& m = part.moments;
    m.count = static_cast<double>(count);
    for (double* number : {&m.x0, &m.y0, &m.x, &m.y})
      *number = in.real("mean", -2 * magnitude_limit, 2 * magnitude_limit);
    for (double* number : {&m.xx, &m.yy}) *number = in.real("moment", 0, large);
    double const largest = std::sqrt(m.xx) * std::sqrt(m.yy) * (1 + 1e-9);
    m.xy = in.real("mixed moment", -largest, largest);
    one.moments.add(m);
    if (count > 0) one.absolute.add(part.absolute), one.squared.add(part.squared);
  }
  in.end();
  columns_ = std::move(all);
}

std::optional<double> regression_report::mse(int c) const { return of(c).mean(of(c).squared); }

std::optional<double> regression_report::mae(int c) const { return of(c).mean(of(c).absolute); }

std::optional<double> regression_report::rmse(int c) const {
  auto const squared = mse(c);
  return squared ? std::optional(std::sqrt(*squared)) : std::nullopt;
}

std::optional<double> regression_report::r2(int c) const {
  double const errors = of(c).squared.value();
  if (of(c).moments.yy > 0) return 1 - errors / of(c).moments.yy;
  return examples() > 0 ? std::optional(errors == 0 ? 1.0 : 0.0) : std::nullopt;
}

std::optional<double> regression_report::correlation(int c) const {
  detail::paired_moments const& m = of(c).moments;
  double const both = std::sqrt(m.xx) * std::sqrt(m.yy);
  return both > 0 ? std::optional(std::clamp(m.xy / both, -1.0, 1.0)) : std::nullopt;
}

std::string regression_report::stats() const {
  if (examples() == 0) return "  no examples\n";
  detail::text_table table({.others = detail::columns::right});
  table.add({"", "MSE", "MAE", "RMSE", "R²", "correlation"});
  auto const number = [](std::optional<double> x) { return detail::decimal_text(x, 4); };
  for (int c = 0; c < columns() && columns() <= labels_.most_printed; ++c)
    table.add({labels_.name(c), number(mse(c)), number(mae(c)), number(rmse(c)), number(r2(c)),
               number(correlation(c))});
  if (columns() > 1)
    table.add({"mean", number(mse()), number(mae()), number(rmse()), number(r2()), number(correlation())});
  std::string const text = detail::text_of({"  ", examples(), " examples\n"}) + table.text();
  if (columns() == 1) return text;
  int undefined = 0;
  for (int c = 0; c < columns(); ++c) undefined += correlation(c) ? 0 : 1;
  return undefined == 0 ? text
                        : detail::text_of({text, "  columns with 0/0, left out of the means: ", undefined,
                                           " of correlation\n"});
}

std::optional<double> regression_report::column::mean(detail::compensated_sum const& errors) const {
  return moments.count > 0 ? std::optional(errors.value() / moments.count) : std::nullopt;
}

std::optional<double> regression_report::mean(std::optional<double> (regression_report::*number)(int)
                                                  const) const {
  detail::optional_mean all;
  for (int c = 0; c < columns(); ++c) all.add((this->*number)(c));
  return all.value();
}

double regression_report::at(tensor_view const& t, int n, int c) const {
  std::size_t const i = static_cast<std::size_t>(n) * columns_.size() + static_cast<std::size_t>(c);
  return t.type == element_type::f32 ? static_cast<double>(t.as<float>()[i]) : t.as<double>()[i];
}

void regression_report::check(tensor_view outputs, tensor_view targets) const {
  for (auto const& [what, t] : {std::pair("outputs", outputs), std::pair("targets", targets)}) {
    bool const fits = t.dims.rank > 0 && t.dims[0] == outputs.dims[0]
                      && t.dims.elements() == static_cast<std::int64_t>(t.dims[0]) * columns();
    if (!fits || (t.type != element_type::f32 && t.type != element_type::f64))
      throw shape_error({.what = "cannot evaluate these outputs and targets",
                         .where = what,
                         .expected = {outputs.dims[0], 'x', columns(), ", f32 or f64"},
                         .got = {to_string(t.dims), ", ", name_of(t.type)}});
  }
}

}  // namespace cohort
