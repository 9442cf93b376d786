// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cohort/io/json_writer.hpp>
#include <cohort/transform/detail/pass_plan.hpp>
#include <cohort/transform/detail/pipeline_json.hpp>
#include <cohort/transform/transform_pipeline.hpp>

namespace cohort {

std::string_view name_of(transform_step const& step) { return detail::step_names[step.index()]; }

void transform_pipeline::check() const {
  detail::pipeline_program const program(*this);
  detail::plan_of(program, detail::plan_purpose::check);
}

transform_pipeline transform_pipeline::from(io::json_value root) {
  constexpr std::array<std::string_view, 4> fields{"$schema", "version", "schema", "steps"};
  detail::expect_version(root, version);
  detail::expect_fields(root, fields);
  return detail::read_pipeline(root);
}

transform_pipeline transform_pipeline::from_json(std::string_view text, std::string_view name) {
  io::json_document const parsed = detail::parse_pipeline(text, name);
  return from(parsed.root());
}

std::string to_json(transform_pipeline const& how) {
  io::json_writer out(2);
  out.begin_object().field("version", transform_pipeline::version);
  detail::write_pipeline(out, how);
  return out.end_object().text();
}

}  // namespace cohort
