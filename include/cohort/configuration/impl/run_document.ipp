// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cohort/configuration/detail/document_paths.hpp>
#include <cohort/configuration/run_document.hpp>
#include <cohort/graph/detail/layers_codec.hpp>
#include <cohort/io/json.hpp>
#include <cohort/strategy/detail/strategy_fields.hpp>
#include <cohort/training/detail/settings_fields.hpp>
#include <cohort/transform/detail/pipeline_fields.hpp>
#include <limits>
#include <utility>

namespace cohort::detail {

// ---- names ----------------------------------------------------------------------------------------------
inline constexpr std::array<std::string_view, 7> backend_names{
    "auto", "onednn", "onednn_bf16", "cudnn", "cudnn_tf32", "cudnn_bf16", "reference"};
inline constexpr std::array<std::string_view, 6> communicator_names{"auto", "self", "threads",
                                                                    "mpi",  "nccl", "tcp"};
inline constexpr std::array<std::string_view, 9> data_names{"digits", "mnist",  "idx",     "table", "text",
                                                            "series", "images", "records", "audio"};
inline constexpr std::array<std::string_view, 5> token_names{"characters", "bytes", "byte_pairs", "gpt2",
                                                             "file"};
inline constexpr std::array<std::string_view, 6> strategy_names{"auto",      "none",    "allreduce",
                                                                "averaging", "sharing", "top_k"};
inline constexpr std::array<std::string_view, 3> fitting_names{"refuse", "stretch", "cover"};
inline constexpr std::array<std::string_view, 4> record_names{"webdataset", "tfrecord", "lmdb",
                                                              "sequence_file"};
inline constexpr std::array<std::string_view, 3> content_names{"images", "numbers", "sounds"};
inline constexpr std::array<std::string_view, 2> mel_scale_names{"slaney", "htk"};
inline constexpr std::array<std::string_view, 2> edge_names{"zeros", "reflect"};
inline constexpr std::array<std::string_view, 2> stored_names{"f32", "u8"};
inline constexpr std::array<std::string_view, 2> bad_record_names{"stop", "skip"};
/// "loss", then the names of metrics.
inline constexpr std::array<std::string_view, 9> metric_names{
    "loss", "accuracy", "log_loss", "perplexity", "rmse", "mae", "r2", "auc", "top_k"};

static_assert(names_all<data_source>(data_names) && names_all<text_tokens>(token_names)
              && names_all<strategy_source>(strategy_names) && names_all<record_content>(content_names)
              && names_all(mel_scale_names, audio::mel_scale::htk)
              && names_all(edge_names, audio::padding::reflect)
              && names_all(fitting_names, image_options::fit::cover)
              && names_all(record_names, records_source::kind::sequence_file)
              && names_all(bad_record_names, bad_record::skip));

// ---- values of types without a table --------------------------------------------------------------------

/// A list of texts. Documents may contain a text in place of a list of one text.
struct paths_codec {
  void read(io::json_value from, std::vector<std::string>& value) const {
    if (from.kind() == io::json_kind::string)
      value.assign(1, std::string(from.string()));
    else if (from.kind() == io::json_kind::array)
      texts_codec.read(from, value);
    else
      from.refuse("a string, or a list of strings");
  }
  void write(io::json_writer& out, std::vector<std::string> const& value) const {
    texts_codec.write(out, value);
  }
  void schema(io::json_writer& out) const {
    out.begin_object().key("anyOf").begin_array();
    text_codec{}.schema(out);
    texts_codec.schema(out);
    out.end_array().end_object();
  }
};

/// The number of classes, or their names.
struct classes_codec {
  void read(io::json_value from, record_classes& value) const {
    if (from.kind() == io::json_kind::number)
      integer_codec<int>{}.read(from, value.emplace<int>());
    else if (from.kind() == io::json_kind::array)
      texts_codec.read(from, value.emplace<std::vector<std::string>>());
    else
      from.refuse("the number of classes, or a list of their names");
  }
  void write(io::json_writer& out, record_classes const& value) const {
    if (int const* const number = std::get_if<int>(&value))
      out.value(*number);
    else
      texts_codec.write(out, std::get<std::vector<std::string>>(value));
  }
  void schema(io::json_writer& out) const {
    out.begin_object().key("anyOf").begin_array();
    integer_codec<int>{}.schema(out);
    texts_codec.schema(out);
    out.end_array().end_object();
  }
};

/// "none", "balanced", or a list of numbers.
struct class_weights_codec {
  static constexpr std::array<std::string_view, 2> names{"none", "balanced"};
  static constexpr list_codec<real_codec> numbers{};

  void read(io::json_value from, class_weights& value) const {
    value = {};
    if (from.kind() == io::json_kind::string)
      value.balanced = index_of_name(from, "class weights", from.string(), names) == 1;
    else if (from.kind() == io::json_kind::array)
      numbers.read(from, value.values);
    else
      from.refuse("none, balanced, or a list of numbers, one for each class");
  }
  void write(io::json_writer& out, class_weights const& value) const {
    if (value.values.empty())
      out.value(names[value.balanced ? 1 : 0]);
    else
      numbers.write(out, value.values);
  }
  void schema(io::json_writer& out) const {
    out.begin_object().key("anyOf").begin_array();
    write_enum(out, names);
    numbers.schema(out);
    out.end_array().end_object();
  }
};

// ---- strategies -----------------------------------------------------------------------------------------
template <class Visitor>
void field_table(Visitor&, automatic_strategy&) {}
template <class Visitor>
void field_table(Visitor&, no_strategy&) {}

// ---- data -----------------------------------------------------------------------------------------------
inline constexpr real_codec fraction_codec{.least = 0, .most = 1, .is_below = true};

template <class Visitor>
void field_table(Visitor& v, digits_source& s) {
  v.field("train", s.train, integer_codec<int>{1});
  v.field("test", s.test, integer_codec<int>{});
  v.field("seed", s.seed, integer_codec<std::uint64_t>{});
}
template <class Visitor>
void field_table(Visitor& v, mnist_source& s) {
  v.field("folder", s.folder, text_codec{});
}
template <class Visitor>
void field_table(Visitor& v, idx_source& s) {
  v.field("images", s.images, text_codec{});
  v.field("labels", s.labels, text_codec{});
  v.field("test_images", s.test_images, text_codec{});
  v.field("test_labels", s.test_labels, text_codec{});
  v.field("classes", s.classes, integer_codec<int>{});
}
template <class Visitor>
void field_table(Visitor& v, table_source& s) {
  v.field("file", s.file, text_codec{});
  v.field("test_file", s.test_file, text_codec{});
  v.field("test_fraction", s.test_fraction, fraction_codec);
  v.field("split_seed", s.split_seed, integer_codec<std::uint64_t>{});
  v.field("stratified", s.stratified, boolean_codec{});
  field_table(v, s.encode);
  v.field("format", s.format, object_codec<table_settings>{});
  v.field("transform", s.transform, nullable_codec<object_codec<transform_pipeline>>{});
  v.field("bad", s.bad, enum_codec{bad_record_names});
  v.field("weight", s.weight, text_codec{});
}
template <class Visitor>
void field_table(Visitor&, byte_tokens&) {}
template <class Visitor>
void field_table(Visitor&, character_tokens&) {}
template <class Visitor>
void field_table(Visitor& v, byte_pair_tokens& s) {
  v.field("size", s.size, integer_codec<int>{256});
}
template <class Visitor>
void field_table(Visitor& v, gpt2_tokens& s) {
  v.field("vocabulary", s.vocabulary, text_codec{});
  v.field("merges", s.merges, text_codec{});
}
template <class Visitor>
void field_table(Visitor& v, saved_tokens& s) {
  v.field("file", s.file, text_codec{});
}
template <class Visitor>
void field_table(Visitor& v, text_source& s) {
  v.field("file", s.file, text_codec{});
  v.field("tokens", s.tokens, alternatives_codec<text_tokens>{{token_names, "tokenizers"}});
  v.field("length", s.length, integer_codec<int>{1});
  v.field("vocabulary", s.vocabulary, integer_codec<int>{});
  v.field("test_fraction", s.test_fraction, fraction_codec);
}
template <class Visitor>
void field_table(Visitor& v, series_source& s) {
  v.field("file", s.file, text_codec{});
  v.field("columns", s.columns, texts_codec);
  field_table(v, s.window);
  v.field("test_fraction", s.test_fraction, fraction_codec);
  v.field("format", s.format, object_codec<table_settings>{});
}
template <class Visitor>
void field_table(Visitor& v, image_options::changes& s) {
  v.field("padding", s.padding, integer_codec<int>{});
  v.field("flip", s.flip, boolean_codec{});
  v.field("rotation", s.rotation, real_codec{.most = 180});
  v.field("brightness", s.brightness, real_codec{});
  v.field("contrast", s.contrast, real_codec{});
  v.field("saturation", s.saturation, real_codec{});
  v.field("hue", s.hue, real_codec{.most = 0.5});
  v.field("erasing", s.erasing, real_codec{.most = 1});
  v.field("mixup", s.mixup, real_codec{});
  v.field("cutmix", s.cutmix, real_codec{});
}
template <class Visitor>
void field_table(Visitor& v, image_options& s) {
  v.field("channels", s.channels, integer_codec<int>{1, 3});
  v.field("height", s.height, integer_codec<int>{});
  v.field("width", s.width, integer_codec<int>{});
  v.field("other_sizes", s.other_sizes, enum_codec{fitting_names});
  v.field("mean", s.mean, list_codec<real_codec>{any_real});
  v.field("deviation", s.deviation, list_codec<real_codec>{{.least = std::nullopt}});
  field_table(v, s.augment);
  v.field("cache", s.cache, boolean_codec{});
  v.field("salvage", s.salvage, boolean_codec{});
  v.field("apply_exif_orientation", s.apply_exif_orientation, boolean_codec{});
}
template <class Visitor>
void field_table(Visitor& v, images_source& s) {
  v.field("folder", s.folder, text_codec{});
  v.field("test_folder", s.test_folder, text_codec{});
  v.field("test_fraction", s.test_fraction, fraction_codec);
  v.field("split_seed", s.split_seed, integer_codec<std::uint64_t>{});
  v.field("words", s.words, text_codec{});
  v.field("bad", s.bad, enum_codec{bad_record_names});
  field_table(v, s.options);
}
template <class Visitor>
void field_table(Visitor& v, audio::mel_settings& s) {
  v.field("rate", s.rate, integer_codec<int>{1});
  v.field("window", s.window, integer_codec<int>{1});
  v.field("hop", s.hop, integer_codec<int>{1});
  v.field("bands", s.bands, integer_codec<int>{1});
  v.field("low", s.low, real_codec{});
  v.field("high", s.high, real_codec{});
  v.field("scale", s.scale, enum_codec{mel_scale_names});
  v.field("unit_area", s.unit_area, boolean_codec{});
  v.field("edges", s.edges, enum_codec{edge_names});
  v.field("floor", s.floor, real_codec{.least = std::nullopt});
}
template <class Visitor>
void field_table(Visitor& v, audio::sound_settings& s) {
  v.field("seconds", s.seconds, real_codec{.least = std::nullopt});
  field_table(v, s.spectrogram);
}
template <class Visitor>
void field_table(Visitor& v, audio_source& s) {
  v.field("folder", s.folder, text_codec{});
  v.field("test_folder", s.test_folder, text_codec{});
  v.field("test_fraction", s.test_fraction, fraction_codec);
  v.field("split_seed", s.split_seed, integer_codec<std::uint64_t>{});
  v.field("bad", s.bad, enum_codec{bad_record_names});
  field_table(v, s.settings);
}
template <class Visitor>
void field_table(Visitor& v, image_content& s) {
  v.field("image", s.image, paths_codec{});
  v.field("label", s.label, text_codec{});
  field_table(v, s.options);
}
template <class Visitor>
void field_table(Visitor& v, number_content& s) {
  v.field("extents", s.extents, list_codec<integer_codec<int>>{{1}});
  v.field("values", s.values, text_codec{});
  v.field("label", s.label, text_codec{});
  v.field("type", s.type, element_codec{stored_names});
  v.field("scale", s.scale, any_real);
}
template <class Visitor>
void field_table(Visitor& v, sound_content& s) {
  v.field("sound", s.sound, text_codec{});
  v.field("label", s.label, text_codec{});
  field_table(v, s.settings);
}
template <class Visitor>
void field_table(Visitor& v, records_source& s) {
  v.field("format", s.format, enum_codec{record_names});
  v.field("files", s.files, paths_codec{});
  v.field("test_files", s.test_files, paths_codec{});
  v.field("content", s.content, alternatives_codec<record_content>{{content_names, "contents of records"}});
  v.field("classes", s.classes, classes_codec{});
  v.field("words", s.words, text_codec{});
  v.field("cache", s.cache, text_codec{});
  v.field("bad", s.bad, enum_codec{bad_record_names});
  v.field("weight", s.weight, text_codec{});
}
// ---- training -------------------------------------------------------------------------------------------
template <class Visitor>
void field_table(Visitor& v, import_input& s) {
  v.field("name", s.name, mandatory<text_codec>{});
  v.field("extents", s.extents, mandatory<list_codec<integer_codec<int>>>{{{1}}});
}

template <class Visitor>
void field_table(Visitor& v, import_source& s) {
  v.field("file", s.file, text_codec{});
  v.field("weights", s.weights, text_codec{});
  v.field("inputs", s.inputs, list_codec<object_codec<import_input>>{});
  v.field("loss", s.loss, text_codec{});
}

template <class Visitor>
void field_table(Visitor& v, network_source& s) {
  v.field("layers", s.layers, layers_codec{});
  v.field("model", s.model, text_codec{});
  v.field("import", s.imported, nullable_codec<object_codec<import_source>>{});
  v.field("parameters", s.parameters, boolean_codec{});
  v.field("optimizer_state", s.optimizer_state, boolean_codec{});
  v.field("weights", s.weights, text_codec{});
  v.field("names", s.names, text_codec{});
}

template <class Visitor>
void field_table(Visitor& v, early_stopping_source& s) {
  v.field("metric", s.metric, name_codec{metric_names, "metrics"});
  v.field("patience", s.settings.patience, integer_codec<int>{1});
  v.field("minimum_delta", s.settings.minimum_delta, real_codec{});
  v.field("every", s.settings.every, integer_codec<int>{1});
  v.field("restore_best", s.settings.restore_best, boolean_codec{});
}

template <class Visitor>
void field_table(Visitor& v, rank_settings& s) {
  v.field("count", s.count, integer_codec<int>{1, 1024});
  v.field("communicator", s.communicator, name_codec{communicator_names, "communicators"});
  v.field("deadline", s.deadline, seconds_codec{});
  v.field("heartbeat", s.heartbeat, seconds_codec{});
}

template <class Visitor>
void field_table(Visitor& v, remote_settings& s) {
  v.field("command", s.command, texts_codec);
  v.field("folder", s.folder, text_codec{});
  v.field("deadline", s.deadline, seconds_codec{});
}

template <class Visitor>
void field_table(Visitor& v, output_settings& s) {
  v.field("model", s.model, text_codec{});
  v.field("onnx", s.onnx, text_codec{});
  v.field("tokens", s.tokens, text_codec{});
  v.field("predictions", s.predictions, text_codec{});
  v.field("checkpoints", s.checkpoints, text_codec{});
  v.field("checkpoint_every", s.checkpoint_every, integer_codec<std::int64_t>{});
  v.field("keep", s.keep, integer_codec<int>{1});
  v.field("max_age", s.max_age, integer_codec<std::int64_t>{});
  v.field("resume", s.resume, boolean_codec{});
  v.field("report", s.report, text_codec{});
  v.field("tensorboard", s.tensorboard, text_codec{});
  v.field("html_report", s.html_report, text_codec{});
}

/// Members of a run_document that form a separate object in documents.
struct training_part {
  run_document& of;
};
template <class Visitor>
void field_table(Visitor& v, training_part part) {
  field_table(v, part.of.fit);
  field_table(v, execution_part{part.of.training});
  v.field("tune", part.of.tune, boolean_codec{});
  v.field("metrics", part.of.metrics,
          list_codec<name_codec>{{std::span(metric_names).subspan(1), "metrics"}});
  v.field("class_weights", part.of.weights_of_classes, class_weights_codec{});
  v.field("early_stopping", part.of.early_stopping, nullable_codec<object_codec<early_stopping_source>>{});
}

template <class Visitor>
void field_table(Visitor& v, run_document& s) {
  int version = run_document::version;
  std::string for_editors;
  v.field("version", version, version_codec{run_document::version});
  v.field("network", s.network, object_codec<network_source>{});
  v.field("data", s.data, alternatives_codec<data_source>{{data_names, "data sets"}});
  v.field("normalise", s.normalise, object_codec<normalisation_settings>{});
  v.field("initial", s.training, part_codec<initial_part>{});
  v.field("optimizer", s.training, part_codec<optimizer_part>{});
  v.field("training", s, part_codec<training_part>{});
  v.field("strategy", s.strategy, alternatives_codec<strategy_source>{{strategy_names, "strategies"}});
  v.field("backend", s.backend, name_codec{backend_names, "backends"});
  v.field("ranks", s.ranks, object_codec<rank_settings>{});
  v.field("evaluation", s.evaluation, object_codec<evaluation_settings>{});
  v.field("remote", s.remote, object_codec<remote_settings>{});
  v.field("output", s.output, object_codec<output_settings>{});
  v.field("$schema", for_editors, ignored_codec{});
}

/// Throws setting_error with the field's path.
[[noreturn]] inline void refuse_field(std::string path, std::string expected, std::string got) {
  throw setting_error({.what = "a document does not describe a run",
                       .where = std::move(path),
                       .expected = std::move(expected),
                       .got = std::move(got)});
}

inline void require_path(std::string const& value, char const* path, char const* what) {
  if (value.empty()) refuse_field(path, what, "none");
}

/// Throws setting_error if a field of the split is set although the test set has its own files (`other`).
template <class Source>
void require_no_split(Source const& s, std::string const& other, std::string const& path) {
  if (other.empty()) return;
  Source const omitted{};
  auto const refuse = [&](char const* field, std::string got) {
    refuse_field(path + '.' + field, "the default, because the test set has its own files", std::move(got));
  };
  if (s.test_fraction != omitted.test_fraction) refuse("test_fraction", text_of({s.test_fraction}));
  if (s.split_seed != omitted.split_seed) refuse("split_seed", std::to_string(s.split_seed));
  if constexpr (requires { s.stratified; })
    if (s.stratified) refuse("stratified", "true");
}

inline void check_source(digits_source const&) {}
inline void check_source(mnist_source const&) {}
inline void check_source(idx_source const& s) {
  require_path(s.images, "data.idx.images", "a file of images");
  require_path(s.labels, "data.idx.labels", "a file of labels");
  if (!s.test_labels.empty()) require_path(s.test_images, "data.idx.test_images", "a file of images");
  if (!s.test_images.empty()) require_path(s.test_labels, "data.idx.test_labels", "a file of labels");
}
inline void check_pipeline(transform_pipeline const& how, table_settings const& format) {
  for (std::size_t k = 0; k < how.steps.size(); ++k)
    if (std::holds_alternative<pipeline::group_by_key>(how.steps[k]))
      refuse_field(text_of({"data.table.transform.steps[", k, "]"}),
                   "a step that prepares single rows, because each row of a table is an example",
                   "group_by_key");
  if (!format.columns.empty() || !format.number_columns.empty() || !format.text_columns.empty())
    refuse_field("data.table.format",
                 "no columns, number_columns and text_columns, because transform has a schema",
                 "names of columns");
  try {
    how.check();
  } catch (setting_error const& refused) {  // of a column of the schema, or a step
    refusal const& why = refused.why();
    refuse_field("data.table.transform." + why.where, why.expected, text_of({why.got, ": ", why.what}));
  }
}
inline void check_source(table_source const& s) {
  require_path(s.file, "data.table.file", "a file with a table");
  require_path(s.encode.target, "data.table.target", "the name of a column");
  if (s.transform) check_pipeline(*s.transform, s.format);
  require_no_split(s, s.test_file, "data.table");
  bool const is_input = std::ranges::find(s.encode.inputs, s.weight) != s.encode.inputs.end();
  if (!s.weight.empty() && (is_input || s.weight == s.encode.target))
    refuse_field("data.table.weight", "a column that is neither the target nor an input", s.weight);
}
inline void check_source(text_source const& s) {
  require_path(s.file, "data.text.file", "a text file");
  if (auto const* const gpt2 = std::get_if<gpt2_tokens>(&s.tokens)) {
    require_path(gpt2->vocabulary, "data.text.tokens.gpt2.vocabulary", "the file vocab.json of GPT-2");
    require_path(gpt2->merges, "data.text.tokens.gpt2.merges", "the file merges.txt of GPT-2");
  }
  if (auto const* const saved = std::get_if<saved_tokens>(&s.tokens))
    require_path(saved->file, "data.text.tokens.file.file", "a file of tokenizer::save");
}
inline void check_source(series_source const& s) {
  require_path(s.file, "data.series.file", "a file with a table");
  if (s.window.length < 1) refuse_field("data.series.length", "the rows of a window, at least 1", "0");
}
inline void check_source(images_source const& s) {
  require_path(s.folder, "data.images.folder", "a folder with one folder per class");
  if (s.options.channels == 2) refuse_field("data.images.channels", "1 or 3", "2");
  require_no_split(s, s.test_folder, "data.images");
}
inline void check_source(audio_source const& s) {
  require_path(s.folder, "data.audio.folder", "a folder with one folder of WAV files per class");
  require_no_split(s, s.test_folder, "data.audio");
}
inline void check_content(sound_content const& s, bool) {
  require_path(s.sound, "data.records.content.sounds.sound", "the name of the field with the WAV file");
  require_path(s.label, "data.records.content.sounds.label", "the name of the field with the class number");
}
inline void check_content(image_content const& s, bool is_named) {
  std::string const path = "data.records.content.images.";
  if (s.options.channels == 2) refuse_field(path + "channels", "1 or 3", "2");
  char const* const unnamed = "no such field, because a Datum of Caffe has no names";
  if (!is_named && !s.image.empty()) refuse_field(path + "image", unnamed, s.image[0]);
  if (!is_named && !s.label.empty()) refuse_field(path + "label", unnamed, s.label);
}
inline void check_content(number_content const& s, bool is_named) {
  std::string const path = "data.records.content.numbers.";
  constexpr std::size_t most = shape::max_rank - 1;  // the shape of a batch has one axis more
  if (s.extents.empty() || s.extents.size() > most)
    refuse_field(path + "extents", text_of({"1 to ", most, " extents of an example"}),
                 text_of({s.extents.size(), " extents"}));
  double elements = 1;
  for (int const extent : s.extents) elements *= extent;
  if (elements > std::numeric_limits<int>::max())
    refuse_field(path + "extents", text_of({"at most ", std::numeric_limits<int>::max(), " numbers"}),
                 text_of({elements}));
  char const* const unnamed = "no such field, because a Datum of Caffe has no names";
  if (is_named && s.values.empty()) refuse_field(path + "values", "the name of a field of numbers", "none");
  if (!is_named && !s.values.empty()) refuse_field(path + "values", unnamed, s.values);
  if (!is_named && !s.label.empty()) refuse_field(path + "label", unnamed, s.label);
}
inline void check_source(records_source const& s) {
  using kind = records_source::kind;
  if (s.files.empty()) refuse_field("data.records.files", "paths of files of records", "none");
  std::visit(
      [&](auto const& one) {
        check_content(one, s.format == kind::webdataset || s.format == kind::tfrecord);
      },
      s.content);
  if (auto const* const numbers = std::get_if<number_content>(&s.content);
      numbers && numbers->type != element_type::f32 && s.format != kind::webdataset)
    refuse_field("data.records.content.numbers.type",
                 "f32, because only fields of a webdataset have another type",
                 std::string(name_of(numbers->type)));
  if (std::holds_alternative<sound_content>(s.content) && s.format != kind::webdataset)
    refuse_field("data.records.format", "webdataset, because only its records contain sounds",
                 std::string(record_names[static_cast<std::size_t>(s.format)]));
  if (!s.weight.empty() && s.format != kind::webdataset && s.format != kind::tfrecord)
    refuse_field("data.records.weight", "no such field, because a Datum of Caffe has no weight", s.weight);
  int const* const number = std::get_if<int>(&s.classes);
  bool const has_classes = number ? *number > 0 : !std::get<1>(s.classes).empty();
  if (!has_classes && s.words.empty())
    refuse_field("data.records.classes",
                 "the number of classes, a list of their names, or a file in data.records.words", "none");
  require_path(s.cache, "data.records.cache", "auto, none, or a folder");
}

/// Whether the data mixes training images, and whether it skips damaged examples.
struct image_source_fields {
  bool mixes = false, skips = false;
};

inline image_source_fields image_fields_of(data_source const& from) {
  auto const mixes = [](image_options const& options) {
    return options.augment.mixup > 0 || options.augment.cutmix > 0;
  };
  if (auto const* const images = std::get_if<images_source>(&from))
    return {mixes(images->options), images->bad == bad_record::skip};
  if (auto const* const records = std::get_if<records_source>(&from)) {
    auto const* const content = std::get_if<image_content>(&records->content);
    return {content && mixes(content->options), records->bad == bad_record::skip};
  }
  if (auto const* const sounds = std::get_if<audio_source>(&from))
    return {.skips = sounds->bad == bad_record::skip};
  return {};
}

/// Throws setting_error for a remote path that is not a file to read.
inline void check_paths(run_document run) {
  for_each_path(run, [](path_kind kind, char const* field, std::string const& path) {
    if (kind == path_kind::read_file || scheme_of(path).empty()) return;
    bool const is_written = kind == path_kind::written;
    refuse_field(field,
                 is_written
                     ? "a path of this host; copy the file to the remote system after the run"
                     : "a folder of this host; only files can be remote, such as records of its contents",
                 path);
  });
}

/// Throws setting_error for a command that does not read the remote path or does not write the copy.
inline void check_command(std::vector<std::string> const& command) {
  for (char const* const part : {"{name}", "{file}"})
    if (!command.empty() && std::ranges::none_of(command, [&](std::string const& argument) {
          return argument.find(part) != argument.npos;
        }))
      refuse_field("remote.command",
                   "arguments that contain {name}, the remote path, and {file}, the file to write",
                   text_of({"none with ", part}));
}

inline void check_fields(run_document const& run) {
  check_paths(run);
  check_command(run.remote.command);
  network_source const& network = run.network;
  int const starts = network.layers.has_value() + !network.model.empty() + network.imported.has_value();
  if (starts != 1)
    refuse_field("network", "one of layers, model and import", starts == 0 ? "none" : text_of({starts}));
  if (network.imported) {
    require_path(network.imported->file, "network.import.file", "a file of another library");
    if (!network.parameters)
      refuse_field("network.parameters",
                   "true, because an imported network begins with the file's parameters", "false");
  }
  if (network.optimizer_state && network.layers)
    refuse_field("network.optimizer_state", "false, because layers have no optimizers' state", "true");
  if (network.optimizer_state && !network.parameters)
    refuse_field("network.parameters", "true, because optimizer_state continues the model's training",
                 "false");
  if (!network.weights.empty() && !network.model.empty())
    refuse_field("network.weights", "no such field, because a model contains parameters", network.weights);
  if (!network.names.empty() && network.weights.empty())
    refuse_field("network.weights", "a safetensors file, because names is set", "none");
  if (run.ranks.communicator == "self" && run.ranks.count > 1)
    refuse_field("ranks.count", "1 with communicator self", std::to_string(run.ranks.count));
  std::visit([](auto const& one) { check_source(one); }, run.data);
  if (run.output.checkpoints.empty() && (run.output.resume || run.output.checkpoint_every > 0))
    refuse_field("output.checkpoints", "a folder, because resume or checkpoint_every is set", "none");
  image_source_fields const images = image_fields_of(run.data);
  if ((run.weights_of_classes.balanced || !run.weights_of_classes.values.empty()) && images.mixes)
    refuse_field("training.class_weights", "none, because mixup and cutmix mix classes", "weights");
  if (!run.output.predictions.empty() && images.skips)
    refuse_field("output.predictions", "no file, because damaged examples that are skipped have no outputs",
                 run.output.predictions);
  if (!run.output.tokens.empty() && !std::holds_alternative<text_source>(run.data))
    refuse_field("output.tokens", "no file, because only a text has tokens", run.output.tokens);
  if (std::string const& path = run.output.predictions;
      !path.empty() && !path.ends_with(".csv") && !path.ends_with(".npy"))
    refuse_field("output.predictions", "a file that ends in .csv or .npy", path);
  if (run.training.workers == 0 && !run.tune)
    refuse_field("training.workers", "at least 1, or training.tune: true to choose the number", "0");
}

// ---- terms of documents ---------------------------------------------------------------------------------

/// Adds the origins of all fields of a value.
void add_origins(std::map<std::string, std::string, std::less<>>& origins, io::json_value value) {
  if (std::string const path = value.path(); path.size() > 2) origins[path.substr(2)] = value.location();
  if (value.kind() != io::json_kind::object && value.kind() != io::json_kind::array) return;
  for (io::json_value const part : value.items()) add_origins(origins, part);
}

/// A C++ struct whose members are fields of documents.
struct document_term {
  std::string_view type;
  std::string path;
  std::vector<std::string_view> fields;
};

std::vector<document_term> terms_of(run_document const& run) {
  run_document example;  // the tables of parts refer to it
  std::string const data = text_of({"data.", data_names[run.data.index()]});
  bool const is_records = std::holds_alternative<records_source>(run.data);
  std::vector<document_term> terms{
      {"table_settings", data + ".format", names_of_fields<table_settings>().all},
      {"encoder_settings", data, names_of_fields<encoder_settings>().all},
      {"window_settings", data, names_of_fields<window_settings>().all},
      {"sound_settings", is_records ? data + ".content.sounds" : data,
       names_of_fields<audio::sound_settings>().all},
      {"mel_settings", is_records ? data + ".content.sounds" : data,
       names_of_fields<audio::mel_settings>().all},
      {"image_settings", is_records ? data + ".content.images" : data, names_of_fields<image_options>().all},
      {"split_settings", data, names_of_fields<table_source>().all},
      {"normalisation_settings", "normalise", names_of_fields<normalisation_settings>().all},
      {"evaluation_settings", "evaluation", names_of_fields<evaluation_settings>().all},
      {"fetch_settings", "remote", names_of_fields<remote_settings>().all},
      {"optimizer_settings", "optimizer", names_of_fields(optimizer_part{example.training}).all}};
  for (std::string_view const type :
       {"onnx_import_settings", "caffe_import_settings", "deeplearning4j_settings", "keras_options"})
    terms.push_back({type, "network.import", {"inputs"}});
  for (std::string_view const type : {"fit_settings", "loader_settings", "training_settings"})
    terms.push_back({type, "training", names_of_fields(training_part{example}).all});
  terms.push_back({"training_settings", "optimizer", names_of_fields(optimizer_part{example.training}).all});
  return terms;
}

inline bool is_name_sign(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; }

/// Returns the name at the beginning of a text; "" if there is none.
inline std::string_view name_at(std::string_view text) {
  std::size_t size = 0;
  while (size < text.size() && is_name_sign(text[size])) ++size;
  return text.substr(0, size);
}

/// Returns a text with fields of documents in place of members of C++ structs.
class term_translator {
 public:
  explicit term_translator(run_document const& run) : terms_(terms_of(run)) {}

  std::string translated(std::string_view text) const {
    std::string result;
    while (!text.empty()) {
      bool const begins = result.empty() || (!is_name_sign(result.back()) && result.back() != '.');
      std::size_t const read = begins ? std::max(read_member(text, result), read_value(text, result)) : 0;
      if (read == 0) result += text.front();
      text.remove_prefix(std::max<std::size_t>(read, 1));
    }
    return result;
  }

 private:
  document_term const* find(std::string_view type, std::string_view field) const {
    auto const found = std::ranges::find_if(terms_, [&](document_term const& term) {
      return (type.empty() || term.type == type)
             && std::ranges::find(term.fields, field) != term.fields.end();
    });
    return found == terms_.end() ? nullptr : &*found;
  }

  /// Appends the path for type::member at the beginning of a text. Returns the characters that were read.
  std::size_t read_member(std::string_view text, std::string& to) const {
    std::string_view const type = name_at(text);
    if (type.empty() || !text.substr(type.size()).starts_with("::")) return 0;
    std::string_view const field = name_at(text.substr(type.size() + 2));
    document_term const* const term = find(type, field);
    if (!term) return 0;
    to += text_of({term->path, ".", field});
    return type.size() + 2 + field.size();
  }

  /// Appends "path: value" for .member = value. Returns the characters that were read.
  std::size_t read_value(std::string_view text, std::string& to) const {
    if (!text.starts_with('.')) return 0;
    std::string_view const field = name_at(text.substr(1));
    document_term const* const term = field.empty() ? nullptr : find({}, field);
    std::size_t read = 1 + field.size();
    if (!term || !text.substr(read).starts_with(" = ")) return 0;
    read += 3;
    std::string_view const type = name_at(text.substr(read));  // of an enumeration
    if (!type.empty() && text.substr(read + type.size()).starts_with("::")) read += type.size() + 2;
    to += text_of({term->path, ".", field, ": "});
    return read;
  }

  std::vector<document_term> terms_;
};

/// Returns the characters at the beginning of a text that may form a path such as data.table.format.
inline std::string_view path_at(std::string_view text) {
  std::size_t size = 0;
  while (size < text.size() && (is_name_sign(text[size]) || std::string_view(".[]").find(text[size]) < 3))
    ++size;
  return text.substr(0, size);
}

/// Returns whether a document has the field of a path, up to the first index of a list.
inline bool has_field(io::json_value fields, std::string_view path) {
  std::string_view rest = path.substr(0, path.find('['));
  while (!rest.empty()) {
    std::string_view const name = name_at(rest);
    auto const found = fields.kind() == io::json_kind::object ? fields.find(name) : std::nullopt;
    if (!found) return false;
    fields = *found;
    rest.remove_prefix(std::min(name.size() + 1, rest.size()));
  }
  return !path.empty();
}

}  // namespace cohort::detail

namespace cohort {

run_document run_document::from(io::json_value root) {
  try {
    if (root.kind() != io::json_kind::object) root.refuse("an object");
    if (!root.find("version"))
      root.refuse("a field \"version\": 1, the format of the document", "no such field");
    run_document run;
    detail::object_codec<run_document>().read(root, run);
    detail::add_origins(run.origins, root);
    return run;
  } catch (data_error const& problem) {
    refusal const& why = problem.why();
    throw data_error(
        {.what = "cannot read the document", .where = why.where, .expected = why.expected, .got = why.got});
  }
}

run_document run_document::from_json(std::string_view text, std::string_view name) {
  io::json_document const parsed = io::parse_json(text, name);
  return from(parsed.root());
}

void run_document::set(std::string_view path, std::string_view value, std::string_view origin) {
  detail::field_assignment(path, value, origin).apply(*this);
  auto const is_inside = [&](auto const& entry) {
    std::string_view const field = entry.first;
    return field.starts_with(path)
           && (field.size() == path.size() || field[path.size()] == '.' || field[path.size()] == '[');
  };
  std::erase_if(origins, is_inside);
  constexpr std::size_t longest = 80;
  std::size_t const end = origin.find('=');  // of a flag with a long value
  bool const is_short = origin.size() <= longest || end == origin.npos;
  origins.emplace(path, is_short ? std::string(origin) : detail::text_of({origin.substr(0, end + 1), "…"}));
}

std::string run_document::where(std::string_view path) const {
  std::string_view field = path.substr(0, path.find(", "));
  auto found = origins.find(field);
  while (found == origins.end() && !field.empty()) {
    std::size_t const end = field.find_last_of(".[");
    field = field.substr(0, end == field.npos ? 0 : end);
    found = origins.find(field);
  }
  return found == origins.end() ? std::string(path) : detail::text_of({found->second, ", ", path});
}

std::string run_document::explain(std::string_view message) const {
  std::string text = detail::term_translator(*this).translated(message);
  std::size_t const open = text.find(" (");
  if (open == text.npos) return text;
  if (constexpr std::string_view call = "weighted_by_class"; text.compare(open + 2, call.size(), call) == 0)
    text.replace(open + 2, call.size(), "training.class_weights");
  if (text.compare(open + 2, 7, "metric ") == 0)
    text.insert(open + 2, metrics.empty() && early_stopping ? "training.early_stopping.metric, "
                                                            : "training.metrics, ");
  std::string const path(detail::path_at(std::string_view(text).substr(open + 2)));
  io::json_document const fields = io::parse_json(to_json(*this), "document");
  if (detail::has_field(fields.root(), path)) text.replace(open + 2, path.size(), where(path));
  return text;
}

void run_document::check() const {
  try {
    detail::check_fields(*this);
  } catch (setting_error const& problem) {
    refusal const& why = problem.why();
    throw setting_error(
        {.what = why.what, .where = where(why.where), .expected = why.expected, .got = why.got});
  }
}

std::span<std::string_view const> run_document::backends() { return detail::backend_names; }

bool operator==(run_document const& a, run_document const& b) { return to_json(a) == to_json(b); }

std::string_view name_of(strategy_source const& how) { return detail::strategy_names[how.index()]; }

std::string to_json(run_document const& run) {
  io::json_writer out(2);
  detail::object_codec<run_document>().write(out, run);
  return out.text();
}

std::string run_document_schema() {
  io::json_writer out(2);
  out.begin_object().field("$schema", "https://json-schema.org/draft/2020-12/schema");
  out.field("title", "Cohort run document").field("type", "object").field("additionalProperties", false);
  out.key("required").begin_array(io::json_lines::one).value("version").value("network").end_array();
  out.key("properties").begin_object();
  run_document example;
  detail::fields_schema visitor{out};
  detail::field_table(visitor, example);
  out.end_object().key("$defs").begin_object();
  detail::layers_codec::define(out.key("layer"));
  detail::rule_codec::define(out.key("rule"));
  detail::schedule_codec::define(out.key("schedule"));
  detail::initialiser_codec::define(out.key("initialiser"));
  return out.end_object().end_object().text();
}

}  // namespace cohort
