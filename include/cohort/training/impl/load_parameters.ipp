// SPDX-License-Identifier: Apache-2.0
#include <cohort/training/detail/model_transfer.hpp>
#include <cohort/training/load_parameters.hpp>
#include <utility>

namespace cohort {

void load_parameters(training& into, model_file const& from) {
  detail::training_state& run = into.state();
  from.check_network(run.net, run.parameters());  // before the normalisation of the file's network
  detail::data_preparation preparation = detail::preparation_in(from, run.net);
  from.read_averaged_parameters(run.net, run.parameters());
  run.restart_average();
  run.preparation = std::move(preparation);
}

std::optional<table_encoder> encoder_in(model_file const& from) {
  return detail::steps_after_pipeline(from).encoder;
}

}  // namespace cohort
