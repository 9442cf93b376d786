// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/detail/json_string.hpp>
#include <cohort/error/detail/nearest_name.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/tensor/finite.hpp>
#include <cohort/transform/detail/pass_plan.hpp>
#include <cohort/transform/detail/pipeline_steps.hpp>
#include <set>
#include <type_traits>
#include <utility>

namespace cohort::detail {

std::vector<std::string> columns_read_by(pipeline_program const& program, std::size_t step) {
  if (program.expressions[step]) return program.expressions[step]->columns();
  return std::visit(
      [](auto const& one) -> std::vector<std::string> {
        if constexpr (requires { one.columns; }) return one.columns;
        if constexpr (requires { one.from; }) return {one.from};
        if constexpr (requires { one.keys; }) {
          std::vector<std::string> all = one.keys;
          if (!one.order.empty()) all.push_back(one.order);
          return all;
        }
        return {};
      },
      program.how.steps[step]);
}

/// Checks a step against a schema.
class step_checker {
 public:
  step_checker(pipeline_program const& program, std::size_t step, table_schema const& schema)
      : program_(program), step_(step), schema_(schema) {}

  void operator()(pipeline::filter const&) const {
    if (program_.expressions[step_]->type(schema_) != value_type::truth)
      throw setting_error({.what = "the condition of a filter is not true or false",
                           .where = place_of_step(program_.how, step_),
                           .expected = "a comparison, or comparisons joined by and, or, not",
                           .got = "a number or a text"});
  }
  void operator()(pipeline::derive const&) const { program_.expressions[step_]->type(schema_); }
  void operator()(pipeline::categories const& step) const {
    for (std::string const& name : step.columns)
      if (find(name).has_numbers()) refuse_type(find(name), "a category or a text");
  }
  void operator()(pipeline::one_hot const& step) const {
    std::set<std::string> made;
    for (std::string const& name : step.columns) {
      column_schema const& column = category(name);
      if (column.values.size() > pipeline::one_hot::max_values)
        refuse(name, text_of({"at most ", pipeline::one_hot::max_values, " values; the step index for more"}),
               text_of({column.values.size()}));
      for (std::string const& value : column.values) {
        std::string indicator = indicator_of(column, value).name;
        require_new(indicator);
        if (!made.insert(indicator).second)
          refuse(name, "other names of columns, because two indicators would have the same name",
                 quote_for_error(indicator));
      }
    }
  }
  void operator()(pipeline::index const& step) const {
    for (std::string const& name : step.columns) category(name);
  }
  void operator()(pipeline::normalise const& step) const {
    for (std::string const& name : step.columns)
      if (!find(name).has_numbers()) refuse_type(find(name), "a number, an integer or a time");
  }
  void operator()(pipeline::impute const& step) const {
    using enum pipeline::replacement;
    for (std::string const& name : step.columns) {
      column_schema const& column = find(name);
      if ((step.with == mean || step.with == median) && !column.has_numbers())
        refuse_type(column, "a number, an integer or a time; most_frequent or constant for texts");
      if (step.with != constant || column.has_numbers()) continue;
      if (step.text.empty()) refuse(column.name, "a text as the constant", "an empty one");
      if (column.type == column_type::category
          && std::ranges::find(column.values, step.text) == column.values.end())
        refuse(column.name, "one of the values of the category as the constant", quote_for_error(step.text));
    }
  }
  void operator()(pipeline::drop const& step) const {
    for (std::string const& name : step.columns) find(name);
  }
  void operator()(pipeline::keep const& step) const {
    for (std::string const& name : step.columns) find(name);
  }
  void operator()(pipeline::rename const& step) const {
    find(step.from);
    require_new(step.to);
  }
  void operator()(pipeline::group_by_key const& step) const {
    for (std::string const& name : step.keys)
      if (find(name).type == column_type::number)
        refuse_type(find(name), "a text, a category, an integer or a time as the key");
    if (!step.order.empty() && !find(step.order).has_numbers())
      refuse_type(find(step.order), "a number, an integer or a time as the order");
  }
  void operator()(pipeline::windows const&) const {}

 private:
  [[noreturn]] void refuse(std::string const& column, std::string expected, std::string got) const {
    throw setting_error({.what = "a step of the pipeline does not match its columns",
                         .where = {place_of_step(program_.how, step_), ", column ", column},
                         .expected = std::move(expected),
                         .got = std::move(got)});
  }
  [[noreturn]] void refuse_type(column_schema const& column, std::string expected) const {
    refuse(column.name, std::move(expected), text_of({"type ", name_of(column.type)}));
  }
  column_schema const& find(std::string const& name) const {
    if (column_schema const* const found = schema_.find(name)) return *found;
    std::vector<std::string_view> names;
    for (column_schema const& one : schema_.columns) names.push_back(one.name);
    if (names.size() > 50) names.resize(50);
    throw setting_error({.what = "a step names a column that does not exist",
                         .where = place_of_step(program_.how, step_),
                         .expected = {"one of ", names_and_nearest(name, names)},
                         .got = quote_for_error(name)});
  }
  column_schema const& category(std::string const& name) const {
    column_schema const& column = find(name);
    if (column.type != column_type::category)
      refuse_type(column, "a category (the step categories makes one of a text)");
    return column;
  }
  void require_new(std::string const& name) const {
    if (schema_.find(name)) refuse(name, "a name that no column has", "the name of a column");
  }

  pipeline_program const& program_;
  std::size_t step_;
  table_schema const& schema_;
};

void check_step(pipeline_program const& program, std::size_t step, table_schema const& schema) {
  std::visit(step_checker(program, step, schema), program.how.steps[step]);
}

/// Plans one pass.
class pass_planner {
 public:
  explicit pass_planner(pipeline_program const& program) : program_(program), known_(program.how.schema) {}

  pass_plan plan(plan_purpose purpose) {
    pass_plan made;
    std::size_t const steps = purpose == plan_purpose::check ? program_.how.steps.size() : program_.row_steps;
    for (std::size_t i = 0; i < steps; ++i) {
      planned_step step{.action = action_of(i)};
      if (step.action == step_action::block) {
        // If this step may remove rows, the rows of later steps are not known.
        if (program_.expressions[i] && purpose == plan_purpose::pass) break;
        block(i, step.forget);
      } else {
        auto const* const rename = std::get_if<pipeline::rename>(&program_.how.steps[i]);
        if (rename && unknown_.contains(rename->to)) check_rename(i);
        check_step(program_, i, known_);
        if (auto const* const derive = std::get_if<pipeline::derive>(&program_.how.steps[i]))
          unknown_.erase(derive->column);
        if (step.action == step_action::gather)
          for (std::string const& name : columns_read_by(program_, i)) forget(name, name, step.forget);
        else
          known_ = schema_after(program_, i, std::move(known_));
      }
      made.steps.push_back(std::move(step));
    }
    made.schema = std::move(known_);
    return made;
  }

 private:
  step_action action_of(std::size_t step) const {
    for (std::string const& name : columns_read_by(program_, step))
      if (unknown_.contains(name) || (open_ && !known_.find(name))) return step_action::block;
    return program_.is_ready(step) ? step_action::apply : step_action::gather;
  }

  /// Makes the column `name` unknown, and the column `to` (empty: none) to which the step writes its values.
  void forget(std::string const& name, std::string const& to, std::vector<std::string>& list) {
    if (known_.find(name)) {
      std::erase_if(known_.columns, [&](column_schema const& one) { return one.name == name; });
      list.push_back(name);
    }
    unknown_.erase(name);
    if (!to.empty()) unknown_.insert(to);
  }

  void block(std::size_t i, std::vector<std::string>& list) {
    transform_step const& step = program_.how.steps[i];
    if (auto const* const derive = std::get_if<pipeline::derive>(&step))
      return forget(derive->column, derive->column, list);
    if (auto const* const rename = std::get_if<pipeline::rename>(&step)) {
      if (known_.find(rename->to) || unknown_.contains(rename->to)) check_rename(i);
      return forget(rename->from, rename->to, list);
    }
    if (auto const* const keep = std::get_if<pipeline::keep>(&step)) return block_keep(*keep, list);
    bool const removes = std::holds_alternative<pipeline::drop>(step);
    bool const expands = std::holds_alternative<pipeline::one_hot>(step);
    open_ = open_ || expands;
    if (std::holds_alternative<pipeline::filter>(step) || i >= program_.row_steps) return;
    for (std::string const& name : columns_read_by(program_, i))
      forget(name, removes || expands ? std::string() : name, list);
  }

  /// Refuses to rename a column to a name that another column has.
  void check_rename(std::size_t i) const {
    auto const& rename = std::get<pipeline::rename>(program_.how.steps[i]);
    table_schema both = known_;
    for (std::string const& name : {rename.from, rename.to})
      if (!both.find(name)) both.columns.push_back({.name = name});
    check_step(program_, i, both);
  }

  void block_keep(pipeline::keep const& keep, std::vector<std::string>& list) {
    auto const is_kept = [&](std::string const& name) {
      return std::ranges::find(keep.columns, name) != keep.columns.end();
    };
    table_schema const before = known_;
    for (column_schema const& one : before.columns)
      if (!is_kept(one.name)) forget(one.name, "", list);
    std::erase_if(unknown_, [&](std::string const& name) { return !is_kept(name); });
    for (std::string const& name : keep.columns)
      if (!known_.find(name)) unknown_.insert(name);
    open_ = false;
  }

  pipeline_program const& program_;
  table_schema known_;
  std::set<std::string, std::less<>> unknown_;
  bool open_ = false;  // one_hot of unknown values adds columns with unknown names
};

pass_plan plan_of(pipeline_program const& program, plan_purpose purpose) {
  return pass_planner(program).plan(purpose);
}

}  // namespace cohort::detail

namespace cohort {

void transform_pipeline::check() const {
  detail::plan_of(detail::pipeline_program(*this), detail::plan_purpose::check);
}

}  // namespace cohort
