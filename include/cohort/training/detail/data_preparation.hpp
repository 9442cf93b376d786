// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/data_table.hpp>
#include <cohort/data/normalisation.hpp>
#include <cohort/data/table_encoder.hpp>
#include <cohort/detail/hash.hpp>
#include <cohort/graph/node.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cohort::detail {

/// The step that prepares rows before they are encoded: a fitted_pipeline of the component transform.
class row_pipeline {
 public:
  virtual ~row_pipeline() = default;
  virtual data_table apply(data_table const& rows) const = 0;
  virtual std::string to_json() const = 0;
  /// Returns the same number as fitted_pipeline::fingerprint.
  virtual std::uint64_t fingerprint() const { return fnv1a(to_json()); }
};

/// Reads a row_pipeline from JSON. `name`: for messages.  Errors: data_error.
using row_pipeline_reader = std::shared_ptr<row_pipeline const>(std::string_view json, std::string_view name);
/// The reader of the component transform; null in a program without this component.
[[gnu::visibility("default")]] inline constinit row_pipeline_reader* read_row_pipeline = nullptr;

/// Throws setting_error for rows that a pipeline other than the kept one has prepared.
[[noreturn]] void refuse_pipeline(std::string const& where);

/// How a run prepares its data before the network, step by step: rows by `pipeline`, examples by `encoder`,
/// and batches by `rescaling`. Each step may be absent. Model files contain the steps, and the names of
/// features and classes.
struct data_preparation {
  std::shared_ptr<row_pipeline const> pipeline{};
  std::optional<table_encoder> encoder{};
  normalisation rescaling{};
  /// Names of the features of each input of the last fit (tensor_description::feature_names); empty: unknown.
  std::vector<std::vector<std::string>> feature_names{};
  /// Names of the classes of each target of the last fit (tensor_description::label_names); empty: unknown.
  std::vector<std::vector<std::string>> class_names{};

  /// Returns the names of the classes that an output distinguishes: those of the last fit, otherwise those of
  /// the encoder. Empty if they are unknown, and for a layer that is no loss with classes.
  std::vector<std::string> classes_of(graph_view net, int layer) const;

  /// Returns the network's inputs for rows, not yet rescaled. The pipeline is applied only to rows that it
  /// has not prepared yet. Without an encoder, the inputs are the columns of the last fit.
  ///
  /// Errors    those of the steps; data_error with the row that a filter of the pipeline removes;
  ///           setting_error if there is neither an encoder nor names of columns.
  arrays inputs(data_table const& rows) const;
};

}  // namespace cohort::detail
