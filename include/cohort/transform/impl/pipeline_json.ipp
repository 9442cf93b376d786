// SPDX-License-Identifier: Apache-2.0
#include <cohort/io/json.hpp>
#include <cohort/transform/detail/pipeline_json.hpp>

namespace cohort::detail {

io::json_document parse_pipeline(std::string_view text, std::string_view name) {
  return io::parse_json(text, name, {.max_bytes = text.size(), .max_values = text.size()});
}

}  // namespace cohort::detail

namespace cohort {

std::string_view name_of(transform_step const& step) { return detail::step_names[step.index()]; }

transform_pipeline transform_pipeline::from(io::json_value root) {
  transform_pipeline how;
  detail::fields_reader reader(root, true);
  detail::file_fields(reader, how);
  reader.finish();
  return how;
}

transform_pipeline transform_pipeline::from_json(std::string_view text, std::string_view name) {
  io::json_document const parsed = detail::parse_pipeline(text, name);
  return from(parsed.root());
}

std::string to_json(transform_pipeline const& how) {
  io::json_writer out(2);
  transform_pipeline copy = how;
  out.begin_object();
  detail::fields_writer writer{out};
  detail::file_fields(writer, copy);
  return out.end_object().text();
}

}  // namespace cohort
