// SPDX-License-Identifier: Apache-2.0
#include <cohort/training/detail/model_transfer.hpp>
#include <cohort/training/detail/training_state.hpp>
#include <cohort/transform/keep_pipeline.hpp>
#include <utility>

namespace cohort::detail {

class kept_fitted_pipeline final : public row_pipeline {
 public:
  explicit kept_fitted_pipeline(fitted_pipeline kept) : pipeline_(std::move(kept)) {}
  data_table apply(data_table const& rows) const override { return pipeline_.apply(rows); }
  std::string to_json() const override { return cohort::to_json(pipeline_); }
  std::uint64_t fingerprint() const override { return pipeline_.fingerprint(); }
  fitted_pipeline const& pipeline() const { return pipeline_; }

 private:
  fitted_pipeline pipeline_;
};

std::shared_ptr<row_pipeline const> read_kept_pipeline(std::string_view json, std::string_view name) {
  return std::make_shared<kept_fitted_pipeline const>(fitted_pipeline::from_json(json, name));
}

/// Registers read_kept_pipeline when the program, or the shared library with this component, is loaded.
[[maybe_unused]] bool const reads_row_pipelines = (read_row_pipeline = read_kept_pipeline, true);

std::optional<fitted_pipeline> pipeline_in(std::shared_ptr<row_pipeline const> const& kept) {
  if (!kept) return std::nullopt;
  // A model that was loaded before the shared library with this component has only the pipeline's text.
  auto const* const known = dynamic_cast<kept_fitted_pipeline const*>(kept.get());
  return known ? known->pipeline() : fitted_pipeline::from_json(kept->to_json(), pipeline_key);
}

}  // namespace cohort::detail

namespace cohort {

void keep(training& run, fitted_pipeline const& rows) {
  run.state().preparation.pipeline = std::make_shared<detail::kept_fitted_pipeline const>(rows);
}

std::optional<fitted_pipeline> kept_pipeline(training const& run) {
  return detail::pipeline_in(run.state().preparation.pipeline);
}

std::optional<fitted_pipeline> pipeline_in(model_file const& from) {
  return detail::pipeline_in(detail::pipeline_of(from));
}

}  // namespace cohort
