// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/detail/json_string.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/tensor/finite.hpp>
#include <cohort/transform/detail/pipeline_program.hpp>
#include <type_traits>
#include <utility>

namespace cohort::detail {

std::string place_of_step(transform_pipeline const& how, std::size_t step) {
  return text_of({"steps[", step, "], ", cohort::name_of(how.steps[step])});
}

/// Checks the parts of steps that do not depend on a schema.
class step_form {
 public:
  step_form(transform_pipeline const& how, std::size_t step) : how_(how), step_(step) {}

  template <class Step>
  void operator()(Step const& step) const {
    if constexpr (requires { step.columns; }) require_names(step.columns, "columns");
    if constexpr (requires { step.formula; }) require_no_nul(step.formula, "formula");
    if constexpr (requires { step.other; }) require_no_nul(step.other, "other");
    if constexpr (requires { step.text; }) require_no_nul(step.text, "text");
    if constexpr (std::is_same_v<Step, pipeline::filter>) require_no_nul(step.keep, "keep");
    if constexpr (std::is_same_v<Step, pipeline::derive>) require_name(step.column, "column");
    if constexpr (std::is_same_v<Step, pipeline::rename>) {
      require_name(step.from, "from");
      require_name(step.to, "to");
    }
    if constexpr (std::is_same_v<Step, pipeline::impute>) {
      if (!is_finite(step.number)) refuse("number", "a finite number", text_of({step.number}));
    }
    if constexpr (std::is_same_v<Step, pipeline::group_by_key>) {
      require_names(step.keys, "keys");
      if (std::ranges::find(step.keys, step.order) != step.keys.end())
        refuse("order", "a column that is no key", quote_for_error(step.order));
    }
    if constexpr (std::is_same_v<Step, pipeline::windows>) {
      if (step.length < 1) refuse("length", "at least 1 row", text_of({step.length}));
      if (step.stride < 1) refuse("stride", "at least 1 row", text_of({step.stride}));
      if (step_ == 0 || !std::holds_alternative<pipeline::group_by_key>(how_.steps[step_ - 1]))
        refuse("", "group_by_key as the step before",
               step_ == 0 ? "no step" : std::string(cohort::name_of(how_.steps[step_ - 1])));
    } else if (step_ > 0
               && (std::holds_alternative<pipeline::group_by_key>(how_.steps[step_ - 1])
                   || std::holds_alternative<pipeline::windows>(how_.steps[step_ - 1]))) {
      refuse("", "windows after group_by_key, and no further step",
             std::string(cohort::name_of(how_.steps[step_])));
    }
  }

 private:
  [[noreturn]] void refuse(char const* field, std::string expected, std::string got) const {
    throw setting_error({.what = "a step of the pipeline is not valid",
                         .where = {place_of_step(how_, step_), *field == '\0' ? "" : ", ", field},
                         .expected = std::move(expected),
                         .got = std::move(got)});
  }
  void require_no_nul(std::string const& text, char const* field) const {
    if (text.find('\0') != text.npos) refuse(field, "no NUL bytes", quote_for_error(text));
  }
  void require_name(std::string const& name, char const* field) const {
    require_no_nul(name, field);
    if (name.empty()) refuse(field, "the name of a column", "none");
  }
  void require_names(std::vector<std::string> const& names, char const* field) const {
    if (names.empty()) refuse(field, "at least 1 column", "none");
    std::vector<std::string> sorted = names;
    std::ranges::sort(sorted);
    require_name(sorted.front(), field);
    auto const twice = std::ranges::adjacent_find(sorted);
    if (twice != sorted.end()) refuse(field, "different columns", quote_for_error(*twice) + " twice");
  }

  transform_pipeline const& how_;
  std::size_t step_;
};

pipeline_program::pipeline_program(transform_pipeline pipeline)
    : how(std::move(pipeline)), expressions(how.steps.size()), fitted(how.steps.size()) {
  how.schema.check();
  row_steps = how.steps.size();
  for (std::size_t i = 0; i < how.steps.size(); ++i) {
    std::visit(step_form(how, i), how.steps[i]);
    if (auto const* const filter = std::get_if<pipeline::filter>(&how.steps[i]))
      expressions[i].emplace(filter->keep, place_of_step(how, i));
    if (auto const* const derive = std::get_if<pipeline::derive>(&how.steps[i]))
      expressions[i].emplace(derive->formula, place_of_step(how, i));
    if (std::holds_alternative<pipeline::group_by_key>(how.steps[i])) row_steps = std::min(row_steps, i);
  }
}

bool pipeline_program::learns(std::size_t step) const {
  transform_step const& one = how.steps[step];
  if (auto const* const normalise = std::get_if<pipeline::normalise>(&one))
    return normalise->how != rescaling::none;
  if (auto const* const impute = std::get_if<pipeline::impute>(&one))
    return impute->with != pipeline::replacement::constant;
  return std::holds_alternative<pipeline::categories>(one);
}

pipeline::group_by_key const* pipeline_program::grouping() const {
  return row_steps < how.steps.size() ? std::get_if<pipeline::group_by_key>(&how.steps[row_steps]) : nullptr;
}
pipeline::windows const* pipeline_program::windowing() const {
  return row_steps + 1 < how.steps.size() ? std::get_if<pipeline::windows>(&how.steps[row_steps + 1])
                                          : nullptr;
}

}  // namespace cohort::detail
