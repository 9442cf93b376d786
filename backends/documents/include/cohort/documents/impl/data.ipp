// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <atomic>
#include <cohort/audio/audio_folder.hpp>
#include <cohort/checkpoint/model_file.hpp>
#include <cohort/data/cache.hpp>
#include <cohort/data/digits.hpp>
#include <cohort/data/idx.hpp>
#include <cohort/data/split.hpp>
#include <cohort/data/windows.hpp>
#include <cohort/data/with_keys.hpp>
#include <cohort/documents/data.hpp>
#include <cohort/documents/detail/images.hpp>
#include <cohort/documents/detail/records.hpp>
#include <cohort/documents/detail/shared_encoder.hpp>
#include <cohort/documents/detail/weights.hpp>
#include <cohort/documents/settings.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/mnist.hpp>
#include <cohort/text/tokenizer.hpp>
#include <cohort/training/load_parameters.hpp>
#include <cohort/transform/fitted_pipeline.hpp>
#include <cohort/transform/keep_pipeline.hpp>
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

namespace cohort::documents {

namespace {

bool is_packed(std::string_view path) { return path.ends_with(".gz"); }

data_table read_rows(std::string const& path, table_settings const& format) {
  if (is_packed(path)) return read_table(path, format, gzip::read_file);
  return read_table(path, format);
}

idx_array read_array(std::string const& path) {
  return is_packed(path) ? read_idx(path, 0, gzip::read_file) : read_idx(path);
}

data_sets load_source(digits_source const& from, std::uint64_t) {
  data_sets sets{.train = synthetic_digits(from.train, from.seed), .where = "synthetic digits"};
  if (from.test > 0) sets.test = synthetic_digits(from.test, from.seed, from.train);
  return sets;
}

data_sets load_source(mnist_source const& from, std::uint64_t) {
  auto found = mnist::real_or_synthetic(from.folder);
  data_sets sets{.train = std::move(found.train), .test = std::move(found.test), .where = found.where};
  if (found.synthetic)
    sets.notice = "MNIST was not found: these digits are synthetic; the accuracy is not that of MNIST.";
  return sets;
}

/// Returns a data set of images and labels. Images without an axis of channels get one channel.
dataset idx_set(idx_array const& images, idx_array const& labels, int classes) {
  tensor_view values = images.view();
  if (values.dims.rank == 3) values.dims = shape(values.dims[0], 1, values.dims[1], values.dims[2]);
  auto const owners = std::make_shared<std::array<std::shared_ptr<void const>, 2>>(
      std::array<std::shared_ptr<void const>, 2>{images.owner(), labels.owner()});
  return arrays({array_view{.name = "input", .values = values, .scale = 1 / 255.0}},
                {array_view{.name = "label", .values = labels.view(), .classes = classes}}, owners);
}

data_sets load_source(idx_source const& from, std::uint64_t) {
  idx_array const labels = read_array(from.labels);
  auto const all = labels.view().as<std::uint8_t>();
  int const classes = from.classes > 0 ? from.classes : *std::max_element(all.begin(), all.end()) + 1;
  data_sets sets{.train = idx_set(read_array(from.images), labels, classes), .where = from.images};
  if (!from.test_images.empty())
    sets.test = idx_set(read_array(from.test_images), read_array(from.test_labels), classes);
  return sets;
}

/// Throws setting_error if settings of a document differ from those of a fitted encoder. Settings with
/// default values count as omitted.
void require_same_preparation(encoder_settings const& document, table_encoder const& fitted) {
  auto const refuse = [](char const* field, std::string expected, std::string got) {
    throw setting_error({.what = "the document's table settings differ from those of the model's encoder",
                         .where = std::string("data.table.") + field,
                         .expected = std::move(expected),
                         .got = std::move(got)});
  };
  auto const text_of = [](std::vector<std::string> const& names) {
    if (names.empty()) return std::string("none");
    std::string text;
    for (std::string const& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
  };
  auto const or_omitted = [](std::string text) { return text + ", or no such field"; };
  std::vector<std::string> inputs, indexed;
  bool has_other = false, imputes = false;
  for (encoded_column const& column : fitted.columns()) {
    inputs.push_back(column.name);
    if (column.indexed) indexed.push_back(column.name);
    has_other = has_other || column.other;
    imputes = imputes || column.fill;
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
  if (document.impute != imputation::refuse && !imputes)
    refuse("impute", "no such field, because the model replaces no missing numbers", "a replacement");
}

/// Throws setting_error if document and model prepare rows in different ways.
void require_same_preparation(table_source const& from, table_preparation const& learned) {
  bool const is_new = !learned.encoder && !learned.pipeline;
  bool const differs = !is_new && from.transform
                       && (!learned.pipeline || !(*from.transform == learned.pipeline->description()));
  if (differs)
    throw setting_error({.what = "the document's pipeline differs from the model's",
                         .where = "data.table.transform",
                         .expected = learned.pipeline ? "the pipeline of the model, or no such field"
                                                      : "no such field, because the model has none",
                         .got = "another pipeline"});
  if (from.bad == bad_record::skip && !from.transform && !learned.pipeline)
    throw setting_error({.what = "there is no pipeline whose rows could be skipped",
                         .where = "data.table.bad",
                         .expected = "the field transform, or no field bad",
                         .got = "skip"});
  if (learned.encoder) require_same_preparation(from.encode, *learned.encoder);
}

/// Throws setting_error for fields of a document that change how rows are prepared, if the model to which the
/// rows are given has no such preparation.
void require_preparation(table_source const& from, table_preparation const& learned) {
  auto const refuse = [](std::string const& field, std::string const& part) {
    throw setting_error({.what = "the rows are prepared by the model, which contains no " + part,
                         .where = "data.table." + field,
                         .expected = "no such field",
                         .got = "a value"});
  };
  if (!learned.pipeline && from.transform) refuse("transform", "pipeline");
  if (!learned.pipeline && from.bad == bad_record::skip) refuse("bad", "pipeline");
  if (learned.encoder) return;
  if (!from.encode.indexed.empty()) refuse("indexed", "encoder");
  if (from.encode.other) refuse("other", "encoder");
  if (from.encode.impute != imputation::refuse) refuse("impute", "encoder");
}

[[noreturn]] void refuse_skipped(transform_report const& rows, std::string const& file) {
  std::string const all = std::to_string(rows.rows);
  std::string got = "all " + all + " rows skipped";
  if (rows.removed > 0)
    got = std::to_string(rows.skipped) + " of " + all + " rows skipped and " + std::to_string(rows.removed)
          + " removed by filters";
  got += "; the first: " + rows.problems.front();
  throw data_error({.what = "no row of the table can be used",
                    .where = file,
                    .expected = "at least 1 row",
                    .got = std::move(got)});
}

/// Returns the columns of a table that are inputs: all but the target and the weight, unless they are named.
std::vector<std::string> inputs_of(table_source const& from, data_table const& rows) {
  if (!from.encode.inputs.empty()) return from.encode.inputs;
  std::vector<std::string> columns = rows.columns();
  std::erase(columns, from.encode.target);
  if (!from.weight.empty()) std::erase(columns, from.weight);
  return columns;
}

/// Returns the examples of the rows with the weights in a column of the file.
dataset weighted(dataset const& examples, data_table const& rows, table_source const& from) {
  table_settings format = from.format;
  format.columns = format.number_columns = {from.weight};
  format.text_columns = format.optional_columns = {};
  format.number_type = element_type::f32;
  format.missing = missing_values::keep;
  data_table const column = read_rows(from.file, format);
  auto const values = column.numbers(from.weight);
  std::vector<float> weights;
  for (int row = 0; row < rows.rows(); ++row) {
    std::int64_t const number = rows.row_number(row);
    weights.push_back(
        detail::checked_weight(values[static_cast<std::size_t>(number - 1)],
                               from.file + ", column " + from.weight + ", row " + std::to_string(number)));
  }
  return detail::with_weights(examples, [weights = std::move(weights)](std::int64_t i) {
    return weights[static_cast<std::size_t>(i)];
  });
}

/// `shards`: the ranks if each one has a table of its own, with different rows; the preparation is fitted to
/// all tables. Null: all ranks read the same table.
data_sets load_source(table_source const& from, table_preparation const& learned, communicator* shards) {
  require_same_preparation(from, learned);
  auto const read = [&](std::string const& path) {
    if (learned.pipeline)
      return read_rows(path, format_of(learned.pipeline->description().schema, from.format));
    if (from.transform) return read_rows(path, format_of(from.transform->schema, from.format));
    return read_rows(path, from.format);
  };
  data_table const rows = read(from.file);
  bool const splits = from.test_file.empty() && from.test_fraction > 0;
  if (splits && from.stratified && !rows.has(from.encode.target))
    throw setting_error({.what = "the rows cannot be divided by a target that the pipeline makes",
                         .where = "data.table.stratified",
                         .expected = "a target that is a column of the file, or no field stratified",
                         .got = from.encode.target});
  std::optional<table_split> parts;
  if (splits)
    parts = split(
        rows, 1 - from.test_fraction,
        {.seed = from.split_seed, .stratified_by = from.stratified ? from.encode.target : std::string()});
  transform_settings const checks{.bad = from.bad};
  std::optional<fitted_pipeline> pipeline = learned.pipeline;
  if (data_table const& fitted = parts ? parts->training : rows; !pipeline && from.transform)
    shards ? pipeline.emplace(*from.transform, fitted, *shards, checks)
           : pipeline.emplace(*from.transform, fitted, checks);
  transform_report report;
  auto const prepared = [&](data_table const& table, std::string const& file) {
    if (!pipeline) return table;
    transform_report of_table;
    data_table rows_left = pipeline->apply(table, checks, &of_table);
    if (of_table.kept() == 0 && of_table.skipped > 0) refuse_skipped(of_table, file);
    report.add(of_table);
    return rows_left;
  };
  data_table const training = prepared(parts ? parts->training : rows, from.file);
  std::vector<std::string> notices = pipeline ? pipeline->report().notices : std::vector<std::string>();
  encoder_settings encoding = from.encode;
  if (!from.weight.empty()) encoding.inputs = inputs_of(from, training);
  encoding.log = [&](std::string_view notice) { notices.emplace_back(notice); };
  table_encoder const encoder = learned.encoder ? *learned.encoder
                                : shards ? detail::shared_encoder(*shards, training, encoding, from.file)
                                         : table_encoder(training, encoding);
  data_sets sets{.train = encoder.examples(training),
                 .where = from.file,
                 .pipeline = pipeline,
                 .encoder = encoder,
                 .notices = std::move(notices)};
  try {
    if (parts)
      sets.test = encoder.examples(prepared(parts->held_out, from.file));
    else if (!from.test_file.empty())
      sets.test = encoder.examples(prepared(read(from.test_file), from.test_file));
  } catch (data_error const& problem) {
    if (sets.notices.empty()) throw;
    refusal const& why = problem.why();  // a notice about a column of the training set is often the cause
    throw data_error({.what = why.what,
                      .where = why.where,
                      .expected = why.expected,
                      .got = {why.got, "; ", sets.notices[0]}});
  }
  if (pipeline) sets.rows = std::move(report);
  if (!from.weight.empty()) sets.train = weighted(sets.train, training, from);
  return sets;
}

tokenizer tokenizer_of(text_source const& from, std::string const& text) {
  struct maker {
    std::string const& text;
    tokenizer operator()(byte_tokens const&) const { return tokenizer::bytes(); }
    tokenizer operator()(character_tokens const&) const { return tokenizer::characters(text); }
    tokenizer operator()(byte_pair_tokens const& tokens) const {
      return tokenizer::byte_pairs(text, tokens.size);
    }
    tokenizer operator()(gpt2_tokens const& tokens) const {
      return tokenizer::gpt2(tokens.vocabulary, tokens.merges);
    }
    tokenizer operator()(saved_tokens const& tokens) const { return tokenizer::load(tokens.file); }
  };
  return std::visit(maker{text}, from.tokens);
}

std::string read_text(std::string const& path) {
  constexpr std::size_t most = std::size_t{1} << 32;
  if (!is_packed(path)) return io::read_text(path, most);
  std::vector<std::byte> const bytes = gzip::read_file(path, most);
  return {reinterpret_cast<char const*>(bytes.data()), bytes.size()};
}

data_sets load_source(text_source const& from, std::uint64_t seed) {
  std::string const text = read_text(from.file);
  tokenizer const tokens = tokenizer_of(from, text);
  token_stream const all(tokens.encode(text));
  auto const held_out = static_cast<std::int64_t>(from.test_fraction * static_cast<double>(all.size()));
  std::int64_t const cut = all.size() - held_out;
  crop_settings crops{.length = from.length,
                      .vocabulary = from.vocabulary > 0 ? from.vocabulary : tokens.size(),
                      .seed = seed};
  data_sets sets{.train = token_crops(all.part(0, cut), crops), .where = from.file, .tokens = tokens};
  crops.fixed = true;
  if (from.test_fraction > 0) sets.test = token_crops(all.part(cut, all.size()), crops);
  return sets;
}

/// Reads fixed crops of a whole text.
data_sets load_text_to_apply(text_source const& from) {
  std::string const text = read_text(from.file);
  tokenizer const tokens = tokenizer_of(from, text);
  token_stream const all(tokens.encode(text));
  crop_settings const crops{.length = from.length,
                            .vocabulary = from.vocabulary > 0 ? from.vocabulary : tokens.size(),
                            .fixed = true};
  return {.train = token_crops(all, crops), .where = from.file};
}

data_sets load_source(series_source const& from, std::uint64_t) {
  time_series const all = read_rows(from.file, from.format).series(from.columns);
  if (from.test_fraction == 0) return {.train = windows(all, from.window), .where = from.file};
  auto const [training, held_out] = split_series(all, 1 - from.test_fraction);
  return {
      .train = windows(training, from.window), .test = windows(held_out, from.window), .where = from.file};
}

#if COHORT_WITH_IMAGE
/// `keyed`: the path of an image is the key of its example.
data_sets load_source(images_source const& from, std::uint64_t seed, bool keyed = false) {
  image_settings settings = detail::settings_of(from.options, from);
  settings.keyed = keyed;
  if (!from.words.empty()) settings.words = class_words(from.words);
  image_folder const all(from.folder, settings);
  auto const skipped = from.bad == bad_record::skip ? std::make_shared<std::atomic<std::int64_t>>(0)
                                                    : std::shared_ptr<std::atomic<std::int64_t>>();
  auto const examples_of = [&](image_folder const& images) {
    dataset const examples =
        skipped ? dataset(skip_damaged(images, detail::reports_of(skipped))) : dataset(images);
    return from.options.cache ? cache(examples) : examples;
  };
  data_sets sets{.train = examples_of(all),
                 .where = from.folder,
                 .skipped = skipped,
                 .ignored_orientations = settings.ignored_orientations};
  if (!from.test_folder.empty()) {
    settings.labels = all.labels();
    settings.height = all.describe().inputs[0].example[1];
    settings.width = all.describe().inputs[0].example[2];
    sets.test = examples_of(image_folder(from.test_folder, settings));
  } else if (from.test_fraction > 0) {
    auto [training, held_out] =
        split(sets.train, 1 - from.test_fraction, {.seed = from.split_seed, .stratified = true});
    sets.train = std::move(training);
    sets.test = std::move(held_out);
  }
  sets.train = detail::augmented_images(std::move(sets.train), from.options.augment, seed);
  return sets;
}
#else
data_sets load_source(images_source const&, std::uint64_t, bool = false) {
  detail::refuse_images("data.images");
}
#endif

/// `keyed`: the path of a sound is the key of its example.
data_sets load_source(audio_source const& from, std::uint64_t, bool keyed = false) {
  audio::sound_settings settings = from.settings;
  settings.keyed = keyed;
  auto const skipped = from.bad == bad_record::skip ? std::make_shared<std::atomic<std::int64_t>>(0)
                                                    : std::shared_ptr<std::atomic<std::int64_t>>();
  auto const examples_of = [&](audio::audio_folder const& sounds) {
    return skipped ? dataset(skip_damaged(sounds, detail::reports_of(skipped))) : dataset(sounds);
  };
  audio::audio_folder const all(from.folder, settings);
  data_sets sets{.train = examples_of(all), .where = from.folder, .skipped = skipped};
  if (!from.test_folder.empty()) {
    settings.labels = all.labels();
    sets.test = examples_of(audio::audio_folder(from.test_folder, settings));
  } else if (from.test_fraction > 0) {
    auto [training, held_out] =
        split(sets.train, 1 - from.test_fraction, {.seed = from.split_seed, .stratified = true});
    sets.train = std::move(training);
    sets.test = std::move(held_out);
  }
  return sets;
}

data_sets data_of(detail::record_sets sets) {
  return {.train = std::move(sets.train),
          .test = std::move(sets.test),
          .where = std::move(sets.where),
          .skipped = std::move(sets.skipped),
          .ignored_orientations = std::move(sets.ignored_orientations)};
}

data_sets load_source(records_source const& from, std::uint64_t seed) {
  return data_of(detail::load_records(from, seed));
}

/// Throws setting_error if a model that prepares rows of tables is given other data.
void require_table(data_source const& from, table_preparation const& learned) {
  if ((learned.encoder || learned.pipeline) && !std::holds_alternative<table_source>(from))
    throw setting_error({.what = "the model was trained on the rows of a table",
                         .where = "data",
                         .expected = "table, or for a new training network.parameters: false",
                         .got = "another data set"});
}

/// Reads one column of a table as texts, with all rows.
data_table read_column(table_source const& from, std::string const& name) {
  table_settings format = from.format;
  format.columns = format.text_columns = {name};
  format.number_columns = format.optional_columns = {};
  format.missing = missing_values::keep;
  format.missing_texts = {};
  return read_rows(from.file, format);
}

/// Reads the rows of a table to which a model is applied. The rows may lack the target; with a pipeline, only
/// if its schema marks the column as optional. With an encoder and no pipeline, only the encoder's columns
/// are read, so other columns may have missing values. `key`: the column whose texts are the keys; empty: the
/// keys are the numbers of the rows in the file, from 1.
data_sets load_table_to_apply(table_source const& from, table_preparation const& learned,
                              std::string const& key) {
  require_preparation(from, learned);
  require_same_preparation(from, learned);
  table_settings format =
      learned.pipeline ? format_of(learned.pipeline->description().schema, from.format) : from.format;
  format.optional_columns.push_back(from.encode.target);
  if (learned.encoder && !learned.pipeline) {
    format.columns.clear();
    for (encoded_column const& column : learned.encoder->columns()) format.columns.push_back(column.name);
  }
  data_table const rows = read_rows(from.file, format);
  std::optional<transform_report> report;
  data_table prepared = rows;
  if (learned.pipeline) {
    prepared = learned.pipeline->apply(rows, {.bad = from.bad}, &report.emplace());
    if (report->kept() == 0 && report->skipped > 0) refuse_skipped(*report, from.file);
  }
  if (!learned.encoder)
    for (std::string const& name : inputs_of(from, prepared))
      if (prepared.has(name) && prepared.has_texts(name))
        throw setting_error(
            {.what = "an input column contains texts, but the model contains no encoder of tables",
             .where = "data.table.inputs",
             .expected = "columns of numbers, or a model that was trained on a table",
             .got = name});
  dataset const examples = learned.encoder ? learned.encoder->inputs(prepared)
                                           : prepared.examples({.inputs = inputs_of(from, prepared)});
  std::vector<std::int64_t> numbers;
  for (int row = 0; row < prepared.rows(); ++row) numbers.push_back(prepared.row_number(row));
  data_sets data{.train = with_keys(examples, numbers), .where = from.file, .rows = std::move(report)};
  bool const drops = format.missing == missing_values::drop;
  if (key.empty() && !drops) return data;
  std::string const read = key.empty() ? rows.columns().front() : key;
  data_table const column = read_column(from, read);
  if (column.rows() > rows.rows())
    data.notices.push_back(std::to_string(column.rows() - rows.rows()) + " of "
                           + std::to_string(column.rows()) + " rows dropped because of missing values");
  if (key.empty()) return data;
  std::vector<std::string> keys;
  for (std::int64_t const number : numbers)
    keys.emplace_back(column.texts(key)[static_cast<std::size_t>(number - 1)]);
  data.train = with_keys(examples, std::move(keys));
  return data;
}

}  // namespace

table_preparation preparation_in(std::string const& model) {
  auto const file = model_file::open(model);
  return {.pipeline = pipeline_in(file), .encoder = encoder_in(file)};
}

table_preparation preparation_of(network_source const& from) {
  if (from.model.empty() || !from.parameters) return {};
  return preparation_in(from.model);
}

void require_equal_preparation(run_document const& run) {
  if (std::holds_alternative<text_source>(run.data) && run.fit.sharding == sharding::local)
    throw usage_error(
        "training.sharding: expected global for a text, whose tokens come from one file, got local; use "
        "table, "
        "idx, images, audio, series or records");
}

communicator* shards_of(run_document const& run, communicator& world) {
  if (run.fit.sharding != sharding::local) return nullptr;
  if (world.size() > 1 && world.name() == "threads" && std::holds_alternative<table_source>(run.data))
    throw usage_error(
        "training.sharding: expected global for ranks that are threads, which read the same table, got "
        "local; "
        "start one process for each rank by cohort run or mpirun");
  return &world;
}

void require_known_tokens(data_source const& from) {
  auto const* const text = std::get_if<text_source>(&from);
  if (!text) return;
  bool const learns = std::holds_alternative<character_tokens>(text->tokens)
                      || std::holds_alternative<byte_pair_tokens>(text->tokens);
  if (learns)
    throw setting_error({.what = "the tokens of a text to which a model is applied must be known",
                         .where = "data.text.tokens",
                         .expected =
                             "bytes, gpt2, or file with the tokens that output.tokens of the training "
                             "has written",
                         .got = "tokens that are learned from the file"});
}

std::string file_of(data_source const& from) {
  return std::visit(
      [](auto const& source) -> std::string {
        if constexpr (requires { source.file; })
          return source.file;
        else
          return {};
      },
      from);
}

data_sets load(data_source const& from, std::uint64_t seed, table_preparation const& learned,
               communicator* shards) {
  require_table(from, learned);
  return std::visit(
      [&]<class Source>(Source const& source) -> data_sets {
        if constexpr (std::is_same_v<Source, table_source>)
          return load_source(source, learned, shards);
        else
          return load_source(source, seed);
      },
      from);
}

data_sets load(run_document const& run, communicator* shards) {
  return load(run.data, run.training.seed, preparation_of(run.network), shards);
}

data_sets load_to_apply(data_source const& from, table_preparation const& learned, std::string const& key) {
  if (auto const* const table = std::get_if<table_source>(&from))
    return load_table_to_apply(*table, learned, key);
  require_table(from, learned);
  require_known_tokens(from);
  auto const refuse_skipping = [](bad_record bad, char const* field) {
    if (bad == bad_record::skip)
      throw setting_error({.what = "a damaged example has no outputs that could be written",
                           .where = field,
                           .expected = "stop; remove the damaged files or records",
                           .got = "skip"});
  };
  data_source whole = from;
  auto const plain = [](image_options& options) {
    options.augment = {};
    options.cache = false;
  };
  if (auto* const text = std::get_if<text_source>(&whole)) return load_text_to_apply(*text);
  if (auto* const series = std::get_if<series_source>(&whole)) series->test_fraction = 0;
  if (auto* const images = std::get_if<images_source>(&whole)) {
    refuse_skipping(images->bad, "data.images.bad");
    images->test_folder.clear();
    images->test_fraction = 0;
    plain(images->options);
    return load_source(*images, 0, true);
  }
  if (auto* const sounds = std::get_if<audio_source>(&whole)) {
    refuse_skipping(sounds->bad, "data.audio.bad");
    sounds->test_folder.clear();
    sounds->test_fraction = 0;
    return load_source(*sounds, 0, true);
  }
  if (auto* const records = std::get_if<records_source>(&whole)) {
    refuse_skipping(records->bad, "data.records.bad");
    records->test_files.clear();
    records->weight.clear();
    if (auto* const content = std::get_if<image_content>(&records->content)) plain(content->options);
    detail::record_sets sets = detail::load_records(*records, 0);
    sets.train = detail::with_record_keys(sets.train, sets.records);
    return data_of(std::move(sets));
  }
  data_sets data = load(whole, 0);
  data.test.reset();
  return data;
}

}  // namespace cohort::documents
