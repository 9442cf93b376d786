// SPDX-License-Identifier: Apache-2.0
#include "document_run.hpp"
#include <algorithm>
#include <atomic>
#include <cohort/checkpoint/model_file.hpp>
#include <cohort/evaluation/regression.hpp>
#include <cohort/training/load_parameters.hpp>
#include <cohort/transform/keep_pipeline.hpp>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <variant>
#include "reference_program/program.hpp"

namespace cohort_program {

int run_on_ranks(cohort::run_document const& run, int count, char** words, rank_work const& work) {
  reference_program::require_backend(run.backend, document_fields);
  std::optional<document_data> data;
  std::exception_ptr failure;  // of the loading; all ranks of the process throw it
  std::once_flag is_loaded;
  auto const body = [&](cohort::communicator& world) {
    if (work.begin) work.begin(world);
    std::call_once(is_loaded, [&] {
      try {
        data.emplace(work.load());
      } catch (...) {
        failure = std::current_exception();
      }
    });
    if (failure) std::rethrow_exception(failure);
    return work.run_rank(world, *data);
  };
  return reference_program::launch(run, work.preflight, count, words, body, document_fields);
}

void print_data(cohort::run_document const& run, document_data const& data,
                cohort::communicator const& world) {
  if (world.rank() != 0) return;
  reference_program::print_data(data.notice, data.where, data.train, data.test ? &*data.test : nullptr,
                                "examples");
  for (std::string const& notice : data.notices) std::fprintf(stderr, "%s\n", run.explain(notice).c_str());
  print_rows(data);
}

void print_rows(document_data const& data) {
  if (!data.rows) return;
  cohort::transform_report const& rows = *data.rows;
  for (std::string const& problem : rows.problems) std::fprintf(stderr, "skipped: %s\n", problem.c_str());
  std::printf("rows: %lld read, %lld removed by filters, %lld skipped\n", static_cast<long long>(rows.rows),
              static_cast<long long>(rows.removed), static_cast<long long>(rows.skipped));
}

read_counts count_reads(document_data const& data, cohort::communicator& world) {
  auto const counted =
      [&](std::shared_ptr<std::atomic<std::int64_t>> const& counter) -> std::optional<std::uint64_t> {
    if (!counter) return std::nullopt;
    auto count = static_cast<std::uint64_t>(counter->exchange(0));
    world.allreduce(std::span<std::uint64_t>(&count, 1));
    return count;
  };
  read_counts reads;
  reads.skipped = counted(data.skipped);
  reads.ignored_orientations = counted(data.ignored_orientations);
  return reads;
}

void print(read_counts const& reads) {
  if (reads.skipped.value_or(0) > 0)
    std::printf("damaged records: %llu reads skipped\n", static_cast<unsigned long long>(*reads.skipped));
  if (reads.ignored_orientations.value_or(0) > 0)
    std::printf("EXIF orientations: not applied in %llu reads of images\n",
                static_cast<unsigned long long>(*reads.ignored_orientations));
}

table_preparation preparation_in(std::string const& model) {
  auto const file = cohort::model_file::open(model);
  return {.pipeline = pipeline_in(file), .encoder = encoder_in(file)};
}

table_preparation preparation_of(cohort::network_source const& from) {
  if (from.model.empty() || !from.parameters) return {};
  return preparation_in(from.model);
}

cohort::training load_model(cohort::run_document const& run, cohort::communicator& world) {
  cohort::run_document applied = run;
  applied.strategy = cohort::automatic_strategy{};
  applied.training.optimizer = {};  // not used; its settings may name layers of another network
  auto const file = cohort::model_file::open(run.network.model);
  cohort::training model = reference_program::make_training(applied, file.network(), world, document_fields);
  load_parameters(model, file);
  return model;
}

void require_model(cohort::run_document const& run) {
  if (run.network.model.empty())
    throw usage_error("--model: expected a model file, got none; output.model of a training writes one");
}

void require_equal_preparation(cohort::run_document const& run) {
  bool const learns = std::holds_alternative<cohort::table_source>(run.data)
                      || std::holds_alternative<cohort::text_source>(run.data);
  if (learns && run.fit.sharding == cohort::sharding::local)
    throw usage_error(
        "training.sharding: expected global for a table or a text, whose classes and tokens come from one "
        "file, got local; use idx, images, series or records");
}

test_report evaluate(cohort::training& training, cohort::dataset const& test,
                     cohort::evaluation_settings const& settings) {
  cohort::tensor_description const target = test.describe().targets.at(0);
  test_report results;
  auto const add = [&](char const* name, std::optional<double> const& value) {
    if (value) results.numbers.push_back({name, *value});
  };
  if (target.classes > 0) {
    cohort::evaluation_settings limited = settings;
    limited.top = std::min(settings.top, target.classes);
    cohort::classification_report const report = training.evaluate(test, limited);
    results.text = report.stats();
    add("accuracy", report.accuracy());
    if (limited.top > 1) add("top_accuracy", report.top_accuracy());
  } else {
    cohort::regression_report report(static_cast<int>(target.example.elements()));
    training.evaluate(test, {&report}, settings);
    results.text = report.stats();
    add("rmse", report.rmse());
    add("mae", report.mae());
    add("r2", report.r2());
  }
  return results;
}

}  // namespace cohort_program
