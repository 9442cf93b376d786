// SPDX-License-Identifier: Apache-2.0
// Prints the network of a document or of a model: cohort describe --help
#include <cohort/checkpoint/model_file.hpp>
#include <cohort/documents.hpp>
#include <cohort/graph/summary.hpp>
#include <cohort/training/load_parameters.hpp>
#include <cohort/training/run_memory.hpp>
#include <cohort/transform/keep_pipeline.hpp>
#include <cstdio>
#include <string>
#include <string_view>
#include "commands.hpp"
#include "document_call.hpp"
#include "names_in.hpp"

namespace {

using cohort::run_document;
using cohort::documents::data_sets;
using cohort_program::document_call;
using cohort_program::list_of;

constexpr char const* help =
    R"(Prints the layers of a network with their output shapes, parameters and costs. For a document, also prints the
memory that its training will need on a rank; for a model, what the model file contains besides its parameters.

  cohort describe FILE [flags]   FILE is a document, or a model file

)";

int describe_rank(run_document const& run, cohort::communicator& world, data_sets const& data) {
  cohort::documents::network_start from = cohort::documents::read_network(run);
  cohort::training training = cohort::documents::make_training(
      cohort::documents::with_frozen_layers(run, from.frozen), std::move(from.net), world);
  cohort::run_memory const memory = training.memory_of(data.train, run.fit);
  if (world.rank() == 0)
    std::printf("%s%s\n", summary(training.network()).c_str(),
                text_of(memory, training.settings().workers, run.fit.accumulate).c_str());
  return 0;
}

int describe_model(std::string const& path) {
  auto const file = cohort::model_file::open(path);
  std::fputs(summary(file.network()).c_str(), stdout);
  if (file.optimizer())
    std::printf("trained: %lld steps, %lld epochs; contains the optimizers' state\n",
                static_cast<long long>(file.position().step), static_cast<long long>(file.position().epoch));
  if (auto const pipeline = pipeline_in(file))
    std::printf("pipeline: reads the columns %s\n",
                list_of(pipeline->description().schema.columns, [](auto const& column) {
                  return column.name;
                }).c_str());
  if (auto const encoder = encoder_in(file)) {
    std::printf("table: inputs %s",
                list_of(encoder->columns(), [](auto const& column) { return column.name; }).c_str());
    if (!encoder->target().empty()) std::printf("; target %s", encoder->target().c_str());
    if (!encoder->label_names().empty()) std::printf(", classes %s", list_of(encoder->label_names()).c_str());
    std::printf("\n");
  }
  return 0;
}

}  // namespace

int cohort_program::describe_command(int count, char** words) {
  run_document local;
  std::string_view const file = count == 2 ? words[1] : "";
  bool const is_model = !file.empty() && !file.starts_with("-") && !is_document(file);
  if (is_model) return guarded(words[0], [&] { return describe_model(std::string(file)); });
  return run_document_command(
      count, words,
      {.help = help, .work = [&](document_call const&, run_document const& run) {
         return cohort::documents::run_on_ranks(
             run, {.load =
                       [&](cohort::communicator&) {
                         local = cohort::documents::with_local_files(run);
                         return cohort::documents::load(local);
                       },
                   .run_rank = [&](cohort::communicator& world,
                                   data_sets const& data) { return describe_rank(local, world, data); }});
       }});
}
