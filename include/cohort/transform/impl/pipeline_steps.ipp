// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cohort/data/detail/text_dictionary.hpp>
#include <cohort/detail/json_string.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/tensor/finite.hpp>
#include <cohort/transform/detail/pipeline_steps.hpp>
#include <limits>
#include <utility>

namespace cohort::detail {

column_schema indicator_of(column_schema const& column, std::string const& value) {
  return {.name = column.name + '=' + value, .type = column_type::integer, .lowest = 0, .highest = 1};
}

/// Returns the fitted_column of a step for a column.
inline fitted_column const& fitted_for(pipeline_program const& program, std::size_t step,
                                       std::string const& column) {
  return *std::ranges::find(*program.fitted[step], column, &fitted_column::column);
}

/// Applies a step to a schema.
class schema_changer {
 public:
  schema_changer(pipeline_program const& program, std::size_t step, table_schema& schema)
      : program_(program), step_(step), schema_(schema) {}

  void operator()(pipeline::filter const&) const {}
  void operator()(pipeline::derive const& step) const {
    constexpr column_type types[]{column_type::number, column_type::integer, column_type::text};
    column_schema made{.name = step.column,
                       .type = types[static_cast<std::size_t>(program_.expressions[step_]->type(schema_))]};
    if (made.type == column_type::integer) {  // a truth value
      made.lowest = 0;
      made.highest = 1;
    }
    if (schema_.find(step.column))
      at(step.column) = std::move(made);
    else
      schema_.columns.push_back(std::move(made));
  }
  void operator()(pipeline::categories const& step) const {
    for (std::string const& name : step.columns)
      at(name) = {.name = name,
                  .type = column_type::category,
                  .values = fitted_for(program_, step_, name).values,
                  .required = at(name).required || !step.other.empty()};
  }
  void operator()(pipeline::one_hot const& step) const {
    for (std::string const& name : step.columns) {
      column_schema const column = at(name);
      auto place = schema_.columns.erase(schema_.columns.begin() + (&at(name) - schema_.columns.data()));
      for (std::string const& value : column.values) {
        column_schema made = indicator_of(column, value);
        made.required = column.required;
        place = schema_.columns.insert(place, std::move(made)) + 1;
      }
    }
  }
  void operator()(pipeline::index const& step) const {
    for (std::string const& name : step.columns) {
      auto const count = static_cast<double>(at(name).values.size());
      at(name) = {.name = name,
                  .type = column_type::integer,
                  .lowest = 0,
                  .highest = count - 1,
                  .required = at(name).required};
    }
  }
  void operator()(pipeline::normalise const& step) const {
    if (step.how == rescaling::none) return;
    for (std::string const& name : step.columns) at(name) = {.name = name, .required = at(name).required};
  }
  void operator()(pipeline::impute const& step) const {
    using enum pipeline::replacement;
    for (std::string const& name : step.columns) {
      column_schema& column = at(name);
      column.required = true;
      if (step.with == mean || step.with == median) column.type = column_type::number;
      if (step.with == constant) column.lowest = column.highest = std::nullopt;
      if (step.with == constant && column.type == column_type::integer
          && step.number != std::floor(step.number))
        column.type = column_type::number;
    }
  }
  void operator()(pipeline::drop const& step) const {
    for (std::string const& name : step.columns)
      schema_.columns.erase(schema_.columns.begin() + (&at(name) - schema_.columns.data()));
  }
  void operator()(pipeline::keep const& step) const {
    std::vector<column_schema> kept;
    for (std::string const& name : step.columns) kept.push_back(at(name));
    schema_.columns = std::move(kept);
  }
  void operator()(pipeline::rename const& step) const { at(step.from).name = step.to; }
  void operator()(pipeline::group_by_key const&) const {}
  void operator()(pipeline::windows const&) const {}

 private:
  column_schema& at(std::string const& name) const {
    return *std::ranges::find(schema_.columns, name, &column_schema::name);
  }

  pipeline_program const& program_;
  std::size_t step_;
  table_schema& schema_;
};

table_schema schema_after(pipeline_program const& program, std::size_t step, table_schema schema) {
  std::visit(schema_changer(program, step, schema), program.how.steps[step]);
  return schema;
}

/// Applies a step to rows.
class pipeline_step_runner {
 public:
  pipeline_step_runner(pipeline_program const& program, std::size_t step, row_frame& frame,
                       transform_settings const& how, transform_report& report)
      : program_(program),
        step_(step),
        frame_(frame),
        removal_(frame, how, report),
        after_(schema_after(program, step, frame.schema())) {}

  void operator()(pipeline::filter const&) {
    bound_expression const keep(*program_.expressions[step_], frame_.content());
    for (std::size_t row = 0; row < frame_.rows(); ++row) {
      expression_value const value = keep(row);
      if (value.missing || value.number == 0) removal_.filter(row);
    }
    removal_.finish();
  }

  void operator()(pipeline::derive const& step) {
    row_expression const& formula = *program_.expressions[step_];
    bound_expression const value_of(formula, frame_.content());
    frame_column made{.schema = *after_.find(step.column)};
    made.values.is_text = !made.schema.has_numbers();
    text_dictionary texts;
    for (std::size_t row = 0; row < frame_.rows(); ++row) {
      expression_value const value = value_of(row);
      if (made.values.is_text) {
        made.values.codes.push_back(value.missing ? -1 : texts.code_of(texts.key_of(value.text)));
        continue;
      }
      made.values.f64.push_back(value.missing ? std::numeric_limits<double>::quiet_NaN() : value.number);
      if (!value.missing && !is_finite(value.number))
        removal_.refuse(row, "a formula has no finite value", step.column,
                        "a finite number (if(condition, formula, missing) avoids others)",
                        text_of({value.number}));
    }
    if (made.values.is_text) made.values.vocabulary = texts.sort(made.values.codes);
    if (frame_.schema().find(step.column)) {
      std::vector<frame_column> columns;
      columns.push_back(std::move(made));
      frame_.replace(step.column, std::move(columns));
    } else {
      frame_.append(std::move(made));
    }
    removal_.finish();
  }

  void operator()(pipeline::categories const& step) {
    for (std::string const& name : step.columns) {
      std::vector<std::string> const& values = fitted_for(program_, step_, name).values;
      table_column& column = frame_.column(name);
      std::vector<std::string> sorted = values;
      std::ranges::sort(sorted);
      auto const code_of = [&](std::string const& text) {
        auto const found = std::ranges::lower_bound(sorted, text);
        return found != sorted.end() && *found == text ? static_cast<std::int32_t>(found - sorted.begin())
                                                       : -1;
      };
      std::int32_t const other = step.other.empty() ? -1 : code_of(step.other);
      std::vector<std::int32_t> codes;
      for (std::string const& text : column.vocabulary) codes.push_back(code_of(text));
      for (std::size_t row = 0; row < frame_.rows(); ++row) {
        std::int32_t& code = column.codes[row];
        std::int32_t const known = code < 0 ? -1 : codes[static_cast<std::size_t>(code)];
        if (known < 0 && code >= 0 && other < 0)
          removal_.refuse(row, schema_mismatch, name,
                          "one of " + listed_texts(values) + " (categories::other accepts all texts)",
                          quote_for_error(column.vocabulary[static_cast<std::size_t>(code)]));
        code = known < 0 ? other : known;
      }
      column.vocabulary = std::move(sorted);
    }
    removal_.finish();
    update_schema();
  }

  void operator()(pipeline::one_hot const& step) {
    for (std::string const& name : step.columns) {
      column_schema const schema = frame_.schema_of(name);
      table_column const& column = frame_.column(name);
      std::vector<frame_column> made;
      auto after = std::ranges::find(after_.columns, indicator_of(schema, schema.values.front()).name,
                                     &column_schema::name);
      for (std::string const& value : schema.values) {
        auto const code = static_cast<std::int32_t>(std::ranges::lower_bound(column.vocabulary, value)
                                                    - column.vocabulary.begin());
        frame_column& one = made.emplace_back();
        one.schema = *after++;  // schema_after inserts the indicators in this order
        for (std::int32_t const of_row : column.codes)
          one.values.f64.push_back(of_row < 0       ? std::numeric_limits<double>::quiet_NaN()
                                   : of_row == code ? 1.0
                                                    : 0.0);
      }
      frame_.replace(name, std::move(made));
    }
  }

  void operator()(pipeline::index const& step) {
    for (std::string const& name : step.columns) {
      column_schema const schema = frame_.schema_of(name);
      table_column const& column = frame_.column(name);
      std::vector<double> indices(column.vocabulary.size());  // index of each code
      for (std::size_t i = 0; i < schema.values.size(); ++i)
        indices[static_cast<std::size_t>(std::ranges::lower_bound(column.vocabulary, schema.values[i])
                                         - column.vocabulary.begin())] = static_cast<double>(i);
      std::vector<frame_column> made(1);
      made[0].schema = *after_.find(name);
      for (std::int32_t const code : column.codes)
        made[0].values.f64.push_back(code < 0 ? std::numeric_limits<double>::quiet_NaN()
                                              : indices[static_cast<std::size_t>(code)]);
      frame_.replace(name, std::move(made));
    }
  }

  void operator()(pipeline::normalise const& step) {
    if (step.how == rescaling::none) return;
    for (std::string const& name : step.columns) {
      fitted_column const& map = fitted_for(program_, step_, name);
      std::vector<double>& values = frame_.column(name).f64;
      for (std::size_t row = 0; row < values.size(); ++row) {
        if (!is_finite(values[row])) continue;
        double const rescaled = (values[row] - map.zero) / map.unit;
        if (!is_finite(rescaled))
          removal_.refuse(row, "a number cannot be rescaled", name,
                          text_of({"a number for which (value - ", map.zero, ") / ", map.unit, " is finite"}),
                          text_of({values[row]}));
        values[row] = rescaled;
      }
    }
    removal_.finish();
    update_schema();
  }

  void operator()(pipeline::impute const& step) {
    bool const is_constant = step.with == pipeline::replacement::constant;
    for (std::string const& name : step.columns) {
      table_column& column = frame_.column(name);
      double const number = is_constant ? step.number : fitted_for(program_, step_, name).number;
      if (column.is_text)
        fill(column, is_constant ? step.text : fitted_for(program_, step_, name).text);
      else
        for (double& value : column.f64)
          if (!is_finite(value)) value = number;
    }
    update_schema();
  }

  void operator()(pipeline::drop const& step) {
    for (std::string const& name : step.columns) frame_.erase(name);
  }
  void operator()(pipeline::keep const& step) { frame_.keep(step.columns); }
  void operator()(pipeline::rename const& step) { frame_.rename(step.from, step.to); }
  void operator()(pipeline::group_by_key const&) {}
  void operator()(pipeline::windows const&) {}

 private:
  /// Replaces missing texts with `text`, which is inserted into the sorted vocabulary if it is new.
  static void fill(table_column& column, std::string const& text) {
    auto const found = std::ranges::lower_bound(column.vocabulary, text);
    auto const code = static_cast<std::int32_t>(found - column.vocabulary.begin());
    if (found == column.vocabulary.end() || *found != text) {
      column.vocabulary.insert(found, text);
      for (std::int32_t& one : column.codes) one += one >= code ? 1 : 0;
    }
    for (std::int32_t& one : column.codes)
      if (one < 0) one = code;
  }

  /// Updates the schema of the columns, whose names are unchanged.
  void update_schema() {
    for (column_schema const& one : after_.columns) frame_.schema_of(one.name) = one;
  }

  pipeline_program const& program_;
  std::size_t step_;
  row_frame& frame_;
  row_removal removal_;
  table_schema after_;
};

void apply_step(pipeline_program const& program, std::size_t step, row_frame& frame,
                transform_settings const& how, transform_report& report) {
  std::visit([&](auto const& one) { pipeline_step_runner(program, step, frame, how, report)(one); },
             program.how.steps[step]);
}

}  // namespace cohort::detail
