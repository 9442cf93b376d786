// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <charconv>
#include <cmath>
#include <cohort/data/sequences.hpp>
#include <cohort/data/split.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/data_folders.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/random/stream.hpp>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <numbers>
#include <string>
#include <string_view>
#include <vector>
#include "program.hpp"

namespace reference_program {

constexpr char const* series_help =
    "synthetic_control.data, or a folder with JapaneseVowels_TRAIN.ts and _TEST.ts; default: "
    "text/synthetic_control.data in $COHORT_DATA, data/ or the cache, otherwise synthetic series";

/// Series, each with a class. `values`: the rows of all series, one after another.
struct labelled_series {
  int columns = 1;
  std::vector<float> values{};
  std::vector<int> lengths{};
  std::vector<std::int32_t> labels{};

  /// Appends a series; `rows` has whole rows.
  void add(std::vector<float> const& rows, int label) {
    values.insert(values.end(), rows.begin(), rows.end());
    lengths.push_back(static_cast<int>(rows.size()) / columns);
    labels.push_back(label);
  }
};

/// Returns the numbers of a text that is separated by `between`.
///
/// Errors    data_error naming `place`.
inline std::vector<float> numbers_in(std::string_view text, char between, std::string const& place) {
  std::vector<float> made;
  while (!text.empty()) {
    std::size_t const end = std::min(text.find(between), text.size());
    std::string_view const one = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (one.empty() && between == ' ') continue;
    float number = 0;
    if (auto const read = std::from_chars(one.data(), one.data() + one.size(), number);
        read.ec != std::errc() || read.ptr != one.data() + one.size())
      throw cohort::data_error({.what = "cannot read a series",
                                .where = place,
                                .expected = "numbers",
                                .got = {"'", one.substr(0, 20), "'"}});
    made.push_back(number);
  }
  return made;
}

/// Calls visit(line, place) for each line that is not empty.
template <class Visit>
void each_line(std::string const& path, Visit visit) {
  std::string const text = cohort::io::read_text(path, std::uint64_t{1} << 30);
  std::string_view rest = text;
  for (int number = 1; !rest.empty(); ++number) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) visit(line, path + ", line " + std::to_string(number));
  }
}

/// Reads Alcock and Manolopoulos' synthetic control charts: six classes of 100 series each, in the order of
/// the classes.
inline labelled_series read_control_charts(std::string const& path) {
  labelled_series made;
  each_line(path, [&](std::string_view line, std::string const& place) {
    made.add(numbers_in(line, ' ', place), static_cast<int>(made.labels.size()) / 100);
  });
  return made;
}

/// Generates control charts by the same formulas.
inline labelled_series drawn_control_charts(int of_each_class, std::uint64_t seed) {
  constexpr int steps = 60;
  labelled_series made;
  for (int k = 0; k < 6 * of_each_class; ++k) {
    cohort::random_stream const draws(seed, "control_charts", 0, static_cast<std::uint64_t>(k));
    int const label = k / of_each_class;
    double const amplitude = 10 + 5 * draws.uniform01<double>(0),
                 period = 10 + 5 * draws.uniform01<double>(1), slope = 0.2 + 0.3 * draws.uniform01<double>(2),
                 shift = 7.5 + 12.5 * draws.uniform01<double>(3),
                 moment = steps * (1 + draws.uniform01<double>(4)) / 3;
    std::vector<float> series;
    for (int t = 0; t < steps; ++t) {
      double value = 30 + 2 * draws.normal<double>(static_cast<std::uint64_t>(10 + t));
      if (label == 1) value += amplitude * std::sin(2 * std::numbers::pi * t / period);
      if (label == 2) value += slope * t;
      if (label == 3) value -= slope * t;
      if (label == 4 && t >= moment) value += shift;
      if (label == 5 && t >= moment) value -= shift;
      series.push_back(static_cast<float>(value));
    }
    made.add(series, label);
  }
  return made;
}

/// Reads a file in the UCR archive's format ts: after @data, each line has the columns of one series and its
/// class (from 1), separated by ':'.
inline labelled_series read_ts(std::string const& path) {
  labelled_series made;
  bool begun = false;
  each_line(path, [&](std::string_view line, std::string const& place) {
    if (!begun) {
      begun = line.starts_with("@data");
      return;
    }
    std::vector<std::vector<float>> columns;
    while (line.find(':') != std::string_view::npos) {
      columns.push_back(numbers_in(line.substr(0, line.find(':')), ',', place));
      line.remove_prefix(line.find(':') + 1);
    }
    std::vector<float> const label = numbers_in(line, ',', place);
    bool whole = !columns.empty() && label.size() == 1 && label[0] >= 1;
    for (auto const& one : columns) whole = whole && one.size() == columns[0].size();
    whole = whole && (made.labels.empty() || static_cast<int>(columns.size()) == made.columns);
    if (!whole)
      throw cohort::data_error({.what = "cannot read a series",
                                .where = place,
                                .expected = "columns of equal lengths and a class",
                                .got = {columns.size(), " columns"}});
    made.columns = static_cast<int>(columns.size());
    std::vector<float> rows;
    for (std::size_t t = 0; t < columns[0].size(); ++t)
      for (auto const& one : columns) rows.push_back(one[t]);
    made.add(rows, static_cast<int>(label[0]) - 1);
  });
  return made;
}

/// A data set of series. `length`: length of the longest series in all sets.
inline cohort::dataset dataset_of(labelled_series read, int classes, int length) {
  auto const owned = std::make_shared<labelled_series>(std::move(read));
  int const rows = static_cast<int>(owned->values.size()) / owned->columns;
  return cohort::sequences(
      {.name = "series",
       .values =
           cohort::series_of({owned->values.data(), cohort::shape(rows, owned->columns)}, owned->lengths)},
      {.name = "class",
       .values = {owned->labels.data(), cohort::shape(static_cast<int>(owned->labels.size()))},
       .classes = classes},
      {.length = length, .owner = owned});
}

inline sets series_sets(options const& chosen) {
  std::string path = chosen.data;
  for (std::string const& folder : cohort::io::data_folders())
    if (path.empty() && std::filesystem::exists(folder + "/text/synthetic_control.data"))
      path = folder + "/text/synthetic_control.data";
  if (!path.empty() && std::filesystem::is_directory(path)) {
    labelled_series train = read_ts(path + "/JapaneseVowels_TRAIN.ts"),
                    test = read_ts(path + "/JapaneseVowels_TEST.ts");
    int longest = 0;
    for (labelled_series const* one : {&train, &test})
      for (int const length : one->lengths) longest = std::max(longest, length);
    return {.train = dataset_of(std::move(train), 9, longest),
            .test = dataset_of(std::move(test), 9, longest),
            .where = path};
  }
  labelled_series const all = path.empty() ? drawn_control_charts(100, 1) : read_control_charts(path);
  auto const [train, test] = cohort::split(dataset_of(all, 6, 60), 0.75, {.seed = 12345, .stratified = true});
  sets made{.train = train, .test = test, .where = path.empty() ? "synthetic series" : path};
  if (path.empty()) {
    made.kind = "synthetic";
    made.notice = "synthetic_control.data was not found: these series are generated by the same formulas.";
  }
  return made;
}

}  // namespace reference_program
