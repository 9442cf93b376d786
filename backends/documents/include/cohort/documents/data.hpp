// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cohort/communicator/communicator.hpp>
#include <cohort/configuration/run_document.hpp>
#include <cohort/data/dataset.hpp>
#include <cohort/data/table_encoder.hpp>
#include <cohort/documents/detail/implementation.hpp>
#include <cohort/text/tokenizer.hpp>
#include <cohort/transform/fitted_pipeline.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cohort::documents {

/// Training and test set of a document, and the pipeline and the encoder of a table. `rows`: of a table with
/// a pipeline. `notices`: about the columns of a table. `skipped` counts the reads of damaged records that
/// were skipped by this process; null without records. `ignored_orientations` counts the reads of images
/// whose EXIF orientation was not applied; null without images.
struct data_sets {
  dataset train;
  std::optional<dataset> test{};
  std::string where{};   ///< file or folder
  std::string notice{};  ///< printed first if synthetic data replaces the real data
  std::optional<fitted_pipeline> pipeline{};
  std::optional<table_encoder> encoder{};
  std::optional<transform_report> rows{};
  std::optional<tokenizer> tokens{};  ///< of a text
  std::vector<std::string> notices{};
  std::shared_ptr<std::atomic<std::int64_t>> skipped{};
  std::shared_ptr<std::atomic<std::int64_t>> ignored_orientations{};
};

/// Preparation of tables that is stored in the model from which training starts.
struct table_preparation {
  std::optional<fitted_pipeline> pipeline{};
  std::optional<table_encoder> encoder{};
};

/// Returns the preparation of tables that is stored in a model file.
table_preparation preparation_in(std::string const& model);
/// Returns the preparation of tables that is stored in the model from whose parameters a training starts.
table_preparation preparation_of(network_source const& from);

/// Reads the data set that a document names. `seed`: seed of crops and augmentations, which differ from epoch
/// to epoch. `learned`: the preparation of the rows of a table; empty: fitted to the training rows. `shards`:
/// the ranks if each one has a data set of its own; the preparation is then fitted to the tables of all
/// ranks, and the call is collective for tables. Null: all ranks read the same data.
///
/// Errors    those of the readers; setting_error if the document and `learned` differ; usage_error if the
///           data needs a component that the program lacks.
data_sets load(data_source const& from, std::uint64_t seed, table_preparation const& learned = {},
               communicator* shards = nullptr);

/// Reads the data of a run, prepared as for the parameters from which the run starts.
///
/// Errors    as for load(data_source).
data_sets load(run_document const& run, communicator* shards = nullptr);

/// Returns the ranks if each one has a data set of its own (local sharding), otherwise null.
///
/// Errors    usage_error if ranks that are threads would read the same table as their own.
communicator* shards_of(run_document const& run, communicator& world);

/// Reads the examples to which a model is applied: those of the files that `from` names for training, without
/// a division and without augmentation, in their order. Rows of a table may lack the target; with a pipeline,
/// only if its schema marks the column as optional. `key`: the column of a table whose texts are the keys;
/// empty: the keys of a table are the numbers of the rows in the file, from 1, those of images are their
/// paths, and those of records the records' keys; other examples have none.
///
/// Before    `key` is empty, or `from` is a table.
/// Errors    as for load; setting_error for a text whose tokens are learned from the file, for damaged images
///           or records that would be skipped, and for other data than a table if the model prepares tables.
data_sets load_to_apply(data_source const& from, table_preparation const& learned, std::string const& key);

/// Throws setting_error if the tokens of a text are learned from the file. Models do not contain tokenizers,
/// so another text would have other tokens than the text of the training.
void require_known_tokens(data_source const& from);

/// Throws usage_error for local sharding of a text, because its tokens are learned from one file.
void require_equal_preparation(run_document const& run);

/// Returns the file of a table, text or series; empty for other data.
std::string file_of(data_source const& from);

}  // namespace cohort::documents
