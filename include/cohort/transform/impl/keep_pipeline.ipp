// SPDX-License-Identifier: Apache-2.0
#include <cohort/training/detail/model_transfer.hpp>
#include <cohort/training/detail/training_state.hpp>
#include <cohort/transform/keep_pipeline.hpp>

namespace cohort {

void keep(training& run, fitted_pipeline const& rows) { run.state().preparation.pipeline = to_json(rows); }

std::optional<fitted_pipeline> kept_pipeline(training const& run) {
  std::string const& text = run.state().preparation.pipeline;
  if (text.empty()) return std::nullopt;
  return fitted_pipeline::from_json(text, detail::pipeline_key);
}

std::optional<fitted_pipeline> pipeline_in(model_file const& from) {
  auto const& metadata = from.file().metadata();
  auto const found = metadata.find(detail::pipeline_key);
  if (found == metadata.end()) return std::nullopt;
  return fitted_pipeline::from_json(found->second, from.file().name() + ", " + detail::pipeline_key);
}

}  // namespace cohort
