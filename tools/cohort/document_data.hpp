// SPDX-License-Identifier: Apache-2.0
#pragma once
// The data sets of a run document.
#include <algorithm>
#include <array>
#include <atomic>
#include <cohort/configuration/data_source.hpp>
#include <cohort/data/digits.hpp>
#include <cohort/data/idx.hpp>
#include <cohort/data/split.hpp>
#include <cohort/data/windows.hpp>
#include <cohort/data/with_keys.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/mnist.hpp>
#include <cohort/text/tokenizer.hpp>
#include <cohort/transform/fitted_pipeline.hpp>
#include <cohort/zlib.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>
#include "image_options.hpp"
#include "names_in.hpp"
#include "record_data.hpp"

namespace cohort_program {

/// Training and test set of a document, and the pipeline and the encoder of a table. `rows`: of a table with
/// a pipeline. `notices`: about the columns of a table. `skipped` counts the reads of damaged records that
/// were skipped by this process; null without records. `ignored_orientations` counts the reads of images
/// whose EXIF orientation was not applied; null without images.
struct document_data {
  cohort::dataset train;
  std::optional<cohort::dataset> test{};
  std::string where{};   ///< file or folder
  std::string notice{};  ///< printed first if synthetic data replaces the real data
  std::optional<cohort::fitted_pipeline> pipeline{};
  std::optional<cohort::table_encoder> encoder{};
  std::optional<cohort::transform_report> rows{};
  std::vector<std::string> notices{};
  std::shared_ptr<std::atomic<std::int64_t>> skipped{};
  std::shared_ptr<std::atomic<std::int64_t>> ignored_orientations{};
};

inline bool is_packed(std::string_view path) { return path.ends_with(".gz"); }

inline cohort::data_table read_rows(std::string const& path, cohort::table_settings const& format) {
  if (is_packed(path)) return cohort::read_table(path, format, cohort::gzip::read_file);
  return cohort::read_table(path, format);
}

inline cohort::idx_array read_array(std::string const& path) {
  return is_packed(path) ? cohort::read_idx(path, 0, cohort::gzip::read_file) : cohort::read_idx(path);
}

inline document_data load(cohort::digits_source const& from, std::uint64_t) {
  document_data made{.train = cohort::synthetic_digits(from.train, from.seed), .where = "synthetic digits"};
  if (from.test > 0) made.test = cohort::synthetic_digits(from.test, from.seed, from.train);
  return made;
}

inline document_data load(cohort::mnist_source const& from, std::uint64_t) {
  auto found = cohort::mnist::real_or_synthetic(from.folder);
  document_data made{.train = std::move(found.train), .test = std::move(found.test), .where = found.where};
  if (found.synthetic)
    made.notice = "MNIST was not found: these digits are synthetic; the accuracy is not that of MNIST.";
  return made;
}

/// Returns a data set of images and labels. Images without an axis of channels get one channel.
inline cohort::dataset idx_set(cohort::idx_array const& images, cohort::idx_array const& labels,
                               int classes) {
  cohort::tensor_view values = images.view();
  if (values.dims.rank == 3) values.dims = cohort::shape(values.dims[0], 1, values.dims[1], values.dims[2]);
  auto const owners = std::make_shared<std::array<std::shared_ptr<void const>, 2>>(
      std::array<std::shared_ptr<void const>, 2>{images.owner(), labels.owner()});
  return cohort::arrays({cohort::array_view{.name = "input", .values = values, .scale = 1 / 255.0}},
                        {cohort::array_view{.name = "label", .values = labels.view(), .classes = classes}},
                        owners);
}

inline document_data load(cohort::idx_source const& from, std::uint64_t) {
  cohort::idx_array const labels = read_array(from.labels);
  auto const all = labels.view().as<std::uint8_t>();
  int const classes = from.classes > 0 ? from.classes : *std::max_element(all.begin(), all.end()) + 1;
  document_data made{.train = idx_set(read_array(from.images), labels, classes), .where = from.images};
  if (!from.test_images.empty())
    made.test = idx_set(read_array(from.test_images), read_array(from.test_labels), classes);
  return made;
}

/// Throws setting_error if settings of a document differ from those of a fitted encoder. Settings with
/// default values count as omitted.
inline void require_same(cohort::encoder_settings const& document, cohort::table_encoder const& fitted) {
  auto const refuse = [](char const* field, std::string expected, std::string got) {
    throw cohort::setting_error(
        {.what = "the document's table settings differ from those of the model's encoder",
         .where = std::string("data.table.") + field,
         .expected = std::move(expected),
         .got = std::move(got)});
  };
  auto const text_of = [](std::vector<std::string> const& names) {
    return names.empty() ? std::string("none") : list_of(names);
  };
  auto const or_omitted = [](std::string text) { return text + ", or no such field"; };
  std::vector<std::string> inputs, indexed;
  bool has_other = false, imputes = false;
  for (cohort::encoded_column const& one : fitted.columns()) {
    inputs.push_back(one.name);
    if (one.indexed) indexed.push_back(one.name);
    has_other = has_other || one.other;
    imputes = imputes || one.fill;
  }
  if (document.target != fitted.target())
    refuse("target", fitted.target().empty() ? "a model with a target" : fitted.target(), document.target);
  if (document.regression != (fitted.classes() == 0))
    refuse("regression", document.regression ? "false" : "true", document.regression ? "true" : "false");
  if (!document.inputs.empty() && document.inputs != inputs)
    refuse("inputs", or_omitted(text_of(inputs)), text_of(document.inputs));
  auto sorted = document.indexed;
  std::sort(sorted.begin(), sorted.end());
  std::sort(indexed.begin(), indexed.end());
  if (!sorted.empty() && sorted != indexed)
    refuse("indexed", or_omitted(text_of(indexed)), text_of(document.indexed));
  if (document.other && !has_other) refuse("other", "false", "true");
  if (document.impute != cohort::imputation::refuse && !imputes)
    refuse("impute", "no such field, because the model replaces no missing numbers", "a replacement");
}

/// Preparation of tables that is stored in the model from which training starts.
struct table_preparation {
  std::optional<cohort::fitted_pipeline> pipeline{};
  std::optional<cohort::table_encoder> encoder{};
};

/// Throws setting_error if document and model prepare rows in different ways.
inline void require_same(cohort::table_source const& from, table_preparation const& learned) {
  bool const is_new = !learned.encoder && !learned.pipeline;
  bool const differs = !is_new && from.transform
                       && (!learned.pipeline || !(*from.transform == learned.pipeline->description()));
  if (differs)
    throw cohort::setting_error({.what = "the document's pipeline differs from the model's",
                                 .where = "data.table.transform",
                                 .expected = learned.pipeline ? "the pipeline of the model, or no such field"
                                                              : "no such field, because the model has none",
                                 .got = "another pipeline"});
  if (from.bad == cohort::bad_record::skip && !from.transform && !learned.pipeline)
    throw cohort::setting_error({.what = "there is no pipeline whose rows could be skipped",
                                 .where = "data.table.bad",
                                 .expected = "the field transform, or no field bad",
                                 .got = "skip"});
  if (learned.encoder) require_same(from.encode, *learned.encoder);
}

/// Throws setting_error for fields of a document that change how rows are prepared, if the model to which the
/// rows are given has no such preparation.
inline void require_preparation(cohort::table_source const& from, table_preparation const& learned) {
  auto const refuse = [](std::string const& field, std::string const& part) {
    throw cohort::setting_error({.what = "the rows are prepared by the model, which contains no " + part,
                                 .where = "data.table." + field,
                                 .expected = "no such field",
                                 .got = "a value"});
  };
  if (!learned.pipeline && from.transform) refuse("transform", "pipeline");
  if (!learned.pipeline && from.bad == cohort::bad_record::skip) refuse("bad", "pipeline");
  if (learned.encoder) return;
  if (!from.encode.indexed.empty()) refuse("indexed", "encoder");
  if (from.encode.other) refuse("other", "encoder");
  if (from.encode.impute != cohort::imputation::refuse) refuse("impute", "encoder");
}

[[noreturn]] inline void refuse_skipped(cohort::transform_report const& rows, std::string const& file) {
  std::string const all = std::to_string(rows.rows);
  std::string got = "all " + all + " rows skipped";
  if (rows.removed > 0)
    got = std::to_string(rows.skipped) + " of " + all + " rows skipped and " + std::to_string(rows.removed)
          + " removed by filters";
  got += "; the first: " + rows.problems.front();
  throw cohort::data_error({.what = "no row of the table can be used",
                            .where = file,
                            .expected = "at least 1 row",
                            .got = std::move(got)});
}

inline document_data load(cohort::table_source const& from, table_preparation const& learned) {
  require_same(from, learned);
  auto const read = [&](std::string const& path) {
    if (learned.pipeline)
      return read_rows(path, format_of(learned.pipeline->description().schema, from.format));
    if (from.transform) return read_rows(path, format_of(from.transform->schema, from.format));
    return read_rows(path, from.format);
  };
  cohort::data_table const rows = read(from.file);
  bool const splits = from.test_file.empty() && from.test_fraction > 0;
  if (splits && from.stratified && !rows.has(from.encode.target))
    throw cohort::setting_error({.what = "the rows cannot be divided by a target that the pipeline makes",
                                 .where = "data.table.stratified",
                                 .expected = "a target that is a column of the file, or no field stratified",
                                 .got = from.encode.target});
  std::optional<cohort::table_split> parts;
  if (splits)
    parts = cohort::split(
        rows, 1 - from.test_fraction,
        {.seed = from.split_seed, .stratified_by = from.stratified ? from.encode.target : std::string()});
  cohort::transform_settings const checks{.bad = from.bad};
  std::optional<cohort::fitted_pipeline> pipeline = learned.pipeline;
  if (!pipeline && from.transform) pipeline.emplace(*from.transform, parts ? parts->training : rows, checks);
  cohort::transform_report report;
  auto const prepared = [&](cohort::data_table const& table, std::string const& file) {
    if (!pipeline) return table;
    cohort::transform_report one;
    cohort::data_table made = pipeline->apply(table, checks, &one);
    if (one.kept() == 0 && one.skipped > 0) refuse_skipped(one, file);
    report.add(one);
    return made;
  };
  cohort::data_table const training = prepared(parts ? parts->training : rows, from.file);
  std::vector<std::string> notices = pipeline ? pipeline->report().notices : std::vector<std::string>();
  cohort::encoder_settings how = from.encode;
  how.log = [&](std::string_view notice) { notices.emplace_back(notice); };
  cohort::table_encoder const encoder =
      learned.encoder ? *learned.encoder : cohort::table_encoder(training, how);
  document_data made{.train = encoder.examples(training),
                     .where = from.file,
                     .pipeline = pipeline,
                     .encoder = encoder,
                     .notices = std::move(notices)};
  if (parts)
    made.test = encoder.examples(prepared(parts->held_out, from.file));
  else if (!from.test_file.empty())
    made.test = encoder.examples(prepared(read(from.test_file), from.test_file));
  if (pipeline) made.rows = std::move(report);
  return made;
}

inline cohort::tokenizer tokenizer_of(cohort::text_source const& from, std::string const& text) {
  struct maker {
    std::string const& text;
    cohort::tokenizer operator()(cohort::byte_tokens const&) const { return cohort::tokenizer::bytes(); }
    cohort::tokenizer operator()(cohort::character_tokens const&) const {
      return cohort::tokenizer::characters(text);
    }
    cohort::tokenizer operator()(cohort::byte_pair_tokens const& how) const {
      return cohort::tokenizer::byte_pairs(text, how.size);
    }
    cohort::tokenizer operator()(cohort::gpt2_tokens const& how) const {
      return cohort::tokenizer::gpt2(how.vocabulary, how.merges);
    }
    cohort::tokenizer operator()(cohort::saved_tokens const& how) const {
      return cohort::tokenizer::load(how.file);
    }
  };
  return std::visit(maker{text}, from.tokens);
}

inline std::string read_text(std::string const& path) {
  constexpr std::size_t most = std::size_t{1} << 32;
  if (!is_packed(path)) return cohort::io::read_text(path, most);
  std::vector<std::byte> const bytes = cohort::gzip::read_file(path, most);
  return {reinterpret_cast<char const*>(bytes.data()), bytes.size()};
}

inline document_data load(cohort::text_source const& from, std::uint64_t seed) {
  std::string const text = read_text(from.file);
  cohort::tokenizer const tokens = tokenizer_of(from, text);
  cohort::token_stream const all(tokens.encode(text));
  auto const held_out = static_cast<std::int64_t>(from.test_fraction * static_cast<double>(all.size()));
  std::int64_t const cut = all.size() - held_out;
  cohort::crop_settings crops{.length = from.length,
                              .vocabulary = from.vocabulary > 0 ? from.vocabulary : tokens.size(),
                              .seed = seed};
  document_data made{.train = cohort::token_crops(all.part(0, cut), crops), .where = from.file};
  crops.fixed = true;
  if (from.test_fraction > 0) made.test = cohort::token_crops(all.part(cut, all.size()), crops);
  return made;
}

/// Throws setting_error if the tokens of a text are learned from the file. Models do not contain tokenizers,
/// so another text would have other tokens than the text of the training.
inline void require_known_tokens(cohort::data_source const& from) {
  auto const* const text = std::get_if<cohort::text_source>(&from);
  if (!text) return;
  bool const learns = std::holds_alternative<cohort::character_tokens>(text->tokens)
                      || std::holds_alternative<cohort::byte_pair_tokens>(text->tokens);
  if (learns)
    throw cohort::setting_error({.what = "the tokens of a text to which a model is applied must be known",
                                 .where = "data.text.tokens",
                                 .expected = "bytes, gpt2 or saved",
                                 .got = "tokens that are learned from the file"});
}

/// Reads fixed crops of a whole text.
inline document_data load_to_apply(cohort::text_source const& from) {
  std::string const text = read_text(from.file);
  cohort::tokenizer const tokens = tokenizer_of(from, text);
  cohort::token_stream const all(tokens.encode(text));
  cohort::crop_settings const crops{.length = from.length,
                                    .vocabulary = from.vocabulary > 0 ? from.vocabulary : tokens.size(),
                                    .fixed = true};
  return {.train = cohort::token_crops(all, crops), .where = from.file};
}

inline document_data load(cohort::series_source const& from, std::uint64_t) {
  cohort::time_series const all = read_rows(from.file, from.format).series(from.columns);
  if (from.test_fraction == 0) return {.train = cohort::windows(all, from.window), .where = from.file};
  auto const [training, held_out] = cohort::split_series(all, 1 - from.test_fraction);
  return {.train = cohort::windows(training, from.window),
          .test = cohort::windows(held_out, from.window),
          .where = from.file};
}

#if HAS_IMAGE
/// `keyed`: the path of an image is the key of its example.
inline document_data load(cohort::images_source const& from, std::uint64_t seed, bool keyed = false) {
  cohort::image_settings how = settings_of(from.options, from);
  how.keyed = keyed;
  if (!from.words.empty()) how.words = cohort::class_words(from.words);
  cohort::image_folder const all(from.folder, how);
  auto const skipped = from.bad == cohort::bad_record::skip ? std::make_shared<std::atomic<std::int64_t>>(0)
                                                            : std::shared_ptr<std::atomic<std::int64_t>>();
  auto const tolerant = [&](cohort::image_folder const& images) -> cohort::dataset {
    if (!skipped) return images;
    return cohort::skip_damaged(images, reports_of(skipped));
  };
  document_data made{.train = training_part(tolerant(all), from.options, seed),
                     .where = from.folder,
                     .skipped = skipped,
                     .ignored_orientations = how.ignored_orientations};
  if (!from.test_folder.empty()) {
    how.labels = all.labels();
    how.height = all.describe().inputs[0].example[1];
    how.width = all.describe().inputs[0].example[2];
    made.test = tolerant(cohort::image_folder(from.test_folder, how));
  } else if (from.test_fraction > 0) {
    cohort::split_settings const parts{.seed = from.split_seed, .stratified = true};
    made.train = cohort::split(std::move(made.train), 1 - from.test_fraction, parts).training;
    made.test = cohort::split(tolerant(all), 1 - from.test_fraction, parts).held_out;
  }
  return made;
}
#else
inline document_data load(cohort::images_source const&, std::uint64_t, bool = false) {
  refuse_images("data.images");
}
#endif

inline document_data data_of(record_sets made) {
  return {.train = std::move(made.train),
          .test = std::move(made.test),
          .where = std::move(made.where),
          .skipped = std::move(made.skipped),
          .ignored_orientations = std::move(made.ignored_orientations)};
}

inline document_data load(cohort::records_source const& from, std::uint64_t seed) {
  return data_of(load_records(from, seed));
}

/// Throws setting_error if a model that prepares rows of tables is given other data.
inline void require_table(cohort::data_source const& from, table_preparation const& learned) {
  if ((learned.encoder || learned.pipeline) && !std::holds_alternative<cohort::table_source>(from))
    throw cohort::setting_error({.what = "the model was trained on the rows of a table",
                                 .where = "data",
                                 .expected = "table, or for a new training network.parameters: false",
                                 .got = "another data set"});
}

/// Returns the file of a table, text or series; empty for other data.
inline std::string file_of(cohort::data_source const& from) {
  return std::visit(
      [](auto const& source) -> std::string {
        if constexpr (requires { source.file; })
          return source.file;
        else
          return {};
      },
      from);
}

/// Reads the data set that a document names. `seed`: seed of crops and augmentations, which differ from epoch
/// to epoch.
inline document_data load(cohort::data_source const& from, std::uint64_t seed,
                          table_preparation const& learned = {}) {
  require_table(from, learned);
  return std::visit(
      [&]<class Source>(Source const& one) -> document_data {
        if constexpr (std::is_same_v<Source, cohort::table_source>)
          return load(one, learned);
        else
          return load(one, seed);
      },
      from);
}

/// Returns the columns of numbers that a model without an encoder reads.
inline std::vector<std::string> inputs_of(cohort::encoder_settings const& settings,
                                          cohort::data_table const& rows) {
  if (!settings.inputs.empty()) return settings.inputs;
  std::vector<std::string> columns = rows.columns();
  std::erase(columns, settings.target);
  return columns;
}

/// Reads one column of a table as texts, with all rows.
inline cohort::data_table read_column(cohort::table_source const& from, std::string const& name) {
  cohort::table_settings format = from.format;
  format.columns = format.text_columns = {name};
  format.number_columns = format.optional_columns = {};
  format.missing = cohort::missing_values::keep;
  format.missing_texts = {};
  return read_rows(from.file, format);
}

/// Reads the rows of a table to which a model is applied. The rows may lack the target; with a pipeline, only
/// if its schema marks the column as optional. With an encoder and no pipeline, only the encoder's columns
/// are read, so other columns may have missing values. `key`: the column whose texts are the keys; empty: the
/// keys are the numbers of the rows in the file, from 1.
inline document_data load_to_apply(cohort::table_source const& from, table_preparation const& learned,
                                   std::string const& key) {
  require_preparation(from, learned);
  require_same(from, learned);
  cohort::table_settings format =
      learned.pipeline ? format_of(learned.pipeline->description().schema, from.format) : from.format;
  format.optional_columns.push_back(from.encode.target);
  if (learned.encoder && !learned.pipeline) {
    format.columns.clear();
    for (cohort::encoded_column const& column : learned.encoder->columns())
      format.columns.push_back(column.name);
  }
  cohort::data_table const rows = read_rows(from.file, format);
  std::optional<cohort::transform_report> report;
  cohort::data_table prepared = rows;
  if (learned.pipeline) {
    prepared = learned.pipeline->apply(rows, {.bad = from.bad}, &report.emplace());
    if (report->kept() == 0 && report->skipped > 0) refuse_skipped(*report, from.file);
  }
  cohort::dataset const examples = learned.encoder
                                       ? learned.encoder->inputs(prepared)
                                       : prepared.examples({.inputs = inputs_of(from.encode, prepared)});
  std::vector<std::int64_t> numbers;
  for (int row = 0; row < prepared.rows(); ++row) numbers.push_back(prepared.row_number(row));
  document_data data{
      .train = cohort::with_keys(examples, numbers), .where = from.file, .rows = std::move(report)};
  bool const drops = format.missing == cohort::missing_values::drop;
  if (key.empty() && !drops) return data;
  std::string const read = key.empty() ? rows.columns().front() : key;
  cohort::data_table const column = read_column(from, read);
  if (column.rows() > rows.rows())
    data.notices.push_back(std::to_string(column.rows() - rows.rows()) + " of "
                           + std::to_string(column.rows()) + " rows dropped because of missing values");
  if (key.empty()) return data;
  std::vector<std::string> keys;
  for (std::int64_t const number : numbers)
    keys.emplace_back(column.texts(key)[static_cast<std::size_t>(number - 1)]);
  data.train = cohort::with_keys(examples, std::move(keys));
  return data;
}

/// Reads the examples to which a model is applied: those of the files that `from` names for training, without
/// a division and without augmentation, in their order. The keys are those of load_to_apply for tables, the
/// paths of images and the keys of records; other examples have none.
///
/// Before    `key` is empty, or `from` is a table.
/// Errors    setting_error for a text whose tokens are learned from the file, for damaged images or records
///           that would be skipped, and for other data than a table if the model prepares tables.
inline document_data load_to_apply(cohort::data_source const& from, table_preparation const& learned,
                                   std::string const& key) {
  if (auto const* const table = std::get_if<cohort::table_source>(&from))
    return load_to_apply(*table, learned, key);
  require_table(from, learned);
  require_known_tokens(from);
  auto const refuse_skipping = [](cohort::bad_record bad, char const* field) {
    if (bad == cohort::bad_record::skip)
      throw cohort::setting_error({.what = "a damaged example has no outputs that could be written",
                                   .where = field,
                                   .expected = "stop; remove the damaged files or records",
                                   .got = "skip"});
  };
  cohort::data_source whole = from;
  auto const plain = [](cohort::image_options& options) {
    options.padding = 0;
    options.rotation = 0;
    options.flip = false;
  };
  if (auto* const text = std::get_if<cohort::text_source>(&whole)) return load_to_apply(*text);
  if (auto* const series = std::get_if<cohort::series_source>(&whole)) series->test_fraction = 0;
  if (auto* const images = std::get_if<cohort::images_source>(&whole)) {
    refuse_skipping(images->bad, "data.images.bad");
    images->test_folder.clear();
    images->test_fraction = 0;
    plain(images->options);
    return load(*images, 0, true);
  }
  if (auto* const records = std::get_if<cohort::records_source>(&whole)) {
    refuse_skipping(records->bad, "data.records.bad");
    records->test_files.clear();
    if (auto* const content = std::get_if<cohort::image_content>(&records->content)) plain(content->options);
    record_sets sets = load_records(*records, 0);
    sets.train = with_record_keys(sets.train, sets.records);
    return data_of(std::move(sets));
  }
  document_data data = load(whole, 0);
  data.test.reset();
  return data;
}

}  // namespace cohort_program
