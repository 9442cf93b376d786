// SPDX-License-Identifier: Apache-2.0
#pragma once
// The data sets of a run document.
#include <cohort/configuration/data_source.hpp>
#include <cohort/data/digits.hpp>
#include <cohort/data/idx.hpp>
#include <cohort/data/split.hpp>
#include <cohort/data/windows.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/mnist.hpp>
#include <cohort/text/tokenizer.hpp>
#include <cohort/zlib.hpp>
#if __has_include(<cohort/image.hpp>)
#include <cohort/image.hpp>
#define HAS_IMAGE 1
#endif
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cohort_train {

/// Training and test set of a document, and the encoder of a table.
struct document_data {
  cohort::dataset train;
  cohort::dataset test;
  std::string where;     ///< file or folder
  std::string notice{};  ///< printed first if the data is drawn in place of the real one
  std::optional<cohort::table_encoder> encoder{};
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
  return {.train = cohort::drawn_digits(from.train, from.seed),
          .test = cohort::drawn_digits(from.test, from.seed, from.train),
          .where = "drawn digits"};
}

inline document_data load(cohort::mnist_source const& from, std::uint64_t) {
  auto found = cohort::mnist::real_or_drawn(from.folder);
  document_data made{.train = std::move(found.train), .test = std::move(found.test), .where = found.where};
  if (found.drawn)
    made.notice = "MNIST was not found: these digits are synthetic; the accuracy is not that of MNIST.";
  return made;
}

/// Images and labels; images without channels get one.
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
  cohort::idx_array const labels = read_array(from.labels), test_labels = read_array(from.test_labels);
  auto const all = labels.view().as<std::uint8_t>();
  int const classes = from.classes > 0 ? from.classes : *std::max_element(all.begin(), all.end()) + 1;
  return {.train = idx_set(read_array(from.images), labels, classes),
          .test = idx_set(read_array(from.test_images), test_labels, classes),
          .where = from.images};
}

inline document_data load(cohort::table_source const& from, std::uint64_t) {
  cohort::data_table const rows = read_rows(from.file, from.format);
  cohort::table_split const parts =
      from.test_file.empty() ? cohort::split(
          rows, 1 - from.test_fraction,
          {.seed = from.split_seed, .stratified_by = from.stratified ? from.encode.target : std::string()})
                             : cohort::table_split{rows, read_rows(from.test_file, from.format)};
  cohort::table_encoder const encoder(parts.training, from.encode);
  return {.train = encoder.examples(parts.training),
          .test = encoder.examples(parts.held_out),
          .where = from.file,
          .encoder = encoder};
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

inline document_data load(cohort::text_source const& from, std::uint64_t seed) {
  std::string const text = cohort::io::read_text(from.file, std::uint64_t{1} << 32);
  cohort::tokenizer const tokens = tokenizer_of(from, text);
  cohort::token_stream const all(tokens.encode(text));
  auto const held_out = static_cast<std::int64_t>(from.test_fraction * static_cast<double>(all.size()));
  std::int64_t const cut = all.size() - held_out;
  cohort::crop_settings crops{.length = from.length,
                              .vocabulary = from.vocabulary > 0 ? from.vocabulary : tokens.size(),
                              .seed = seed};
  cohort::dataset train = cohort::token_crops(all.part(0, cut), crops);
  crops.fixed = true;
  return {.train = std::move(train),
          .test = cohort::token_crops(all.part(cut, all.size()), crops),
          .where = from.file};
}

inline document_data load(cohort::series_source const& from, std::uint64_t) {
  cohort::time_series const all = read_rows(from.file, from.format).series(from.columns);
  auto const [training, held_out] = cohort::split_series(all, 1 - from.test_fraction);
  return {.train = cohort::windows(training, from.window),
          .test = cohort::windows(held_out, from.window),
          .where = from.file};
}

#if HAS_IMAGE
inline document_data load(cohort::images_source const& from, std::uint64_t seed) {
  cohort::image_settings how{.channels = from.channels,
                             .height = from.height,
                             .width = from.width,
                             .other_sizes = static_cast<cohort::fitting>(from.other_sizes)};
  how.normalise.mean = from.mean;
  how.normalise.deviation = from.deviation;
  cohort::augmentation const changes{.padding = from.padding,
                                     .place = cohort::placing::anywhere,
                                     .flip = from.flip,
                                     .rotation = from.rotation,
                                     .seed = seed};
  bool const augments = from.padding > 0 || from.flip || from.rotation > 0;
  auto const training_part = [&](auto data) -> cohort::dataset {
    if (augments) return cohort::augmented(std::move(data), changes);
    return data;
  };
  cohort::image_folder const all(from.folder, how);
  if (!from.test_folder.empty()) {
    how.labels = all.describe().targets[0].label_names;
    how.height = all.describe().inputs[0].example[1];
    how.width = all.describe().inputs[0].example[2];
    return {.train = training_part(all),
            .test = cohort::image_folder(from.test_folder, how),
            .where = from.folder};
  }
  cohort::split_settings const parts{.seed = from.split_seed, .stratified = true};
  return {.train = cohort::split(training_part(all), 1 - from.test_fraction, parts).training,
          .test = cohort::split(all, 1 - from.test_fraction, parts).held_out,
          .where = from.folder};
}
#else
inline document_data load(cohort::images_source const&, std::uint64_t) {
  throw cohort::setting_error({.what = "cannot read images",
                               .where = "data.images",
                               .expected = "a program that was built with the component image",
                               .got = "one without it: install libturbojpeg0-dev, libpng-dev and libzip-dev, "
                                      "and build again"});
}
#endif

/// Reads the data set that a document names. `seed`: of what differs from epoch to epoch.
inline document_data load(cohort::data_source const& from, std::uint64_t seed) {
  return std::visit([&](auto const& one) { return load(one, seed); }, from);
}

}  // namespace cohort_train
