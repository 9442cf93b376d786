// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/interchange/detail/prediction_layout.hpp>
#include <cohort/io/npy.hpp>
#include <cstring>

namespace cohort::detail {

std::string prediction_array::header(std::int64_t rows_of_file, std::size_t width) const {
  std::vector<std::int64_t> all{rows_of_file};
  all.insert(all.end(), dims.begin(), dims.end());
  return npy_header(type == "|S" ? type + std::to_string(width) : type, all);
}

void prediction_layout::divide(std::span<std::int64_t const> sizes, std::int64_t chunk) {
  for (std::size_t rank = 0; rank < sizes.size(); ++rank)
    for (std::int64_t first = 0; first < sizes[rank]; first += chunk) {
      std::int64_t const count = std::min(chunk, sizes[rank] - first);
      chunks.push_back({static_cast<int>(rank), {first, count}, rows});
      rows += count;
    }
}

std::string prediction_layout::part(std::size_t which, std::string_view suffix) const {
  std::string digits = std::to_string(which);
  digits.insert(0, digits.size() < 6 ? 6 - digits.size() : 0, '0');
  return folder() + "/part-" + digits + std::string(suffix);
}

std::vector<std::string> prediction_layout::part_suffixes() const {
  std::vector<std::string> suffixes;
  if (format == prediction_format::csv)
    suffixes.emplace_back(csv_suffix);
  else
    for (prediction_array const& one : arrays()) suffixes.push_back(one.suffix);
  if (sorted()) suffixes.emplace_back(key_run_suffix);
  return suffixes;
}

std::string prediction_layout::file(std::string_view suffix) const {
  if (format == prediction_format::csv) return path;
  std::string_view stem = path;
  if (stem.ends_with(".npy")) stem.remove_suffix(4);
  return std::string(stem) + std::string(suffix);
}

std::vector<std::string> prediction_layout::files() const {
  if (format == prediction_format::csv) return {path};
  std::vector<std::string> all;
  for (prediction_array const& one : arrays()) all.push_back(file(one.suffix));
  return all;
}

std::vector<prediction_array> prediction_layout::arrays() const {
  std::vector<prediction_array> all;
  for (prediction_output const& one : outputs) {
    std::string name = one.name;
    for (char& c : name)
      if (c == '/' || static_cast<unsigned char>(c) <= ' ') c = '_';
    all.push_back({.suffix = outputs.size() > 1 ? "." + name + ".npy" : ".npy",
                   .type = "<f4",
                   .dims = {},
                   .row_bytes = static_cast<std::size_t>(one.example.elements()) * sizeof(float)});
    for (int axis = 0; axis < one.example.rank; ++axis) all.back().dims.push_back(one.example[axis]);
  }
  if (keyed && keys == key_type::integer)
    all.push_back({.suffix = ".key.npy", .type = "<i8", .dims = {}, .row_bytes = sizeof(std::int64_t)});
  else if (keyed)
    all.push_back({.suffix = ".key.npy", .type = "|S", .dims = {}, .row_bytes = 0});
  for (std::size_t a = 0; a < all.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      if (all[a].suffix == all[b].suffix)
        throw setting_error({.what = "two arrays have the same file name",
                             .where = "write_predictions, outputs",
                             .expected = "layers with different names, none of which is key",
                             .got = file(all[a].suffix)});
  return all;
}

void append_csv_field(std::string& to, std::string_view field) {
  if (field.find_first_of(",\"\r\n") == field.npos) {
    to += field;
    return;
  }
  to += '"';
  for (char const c : field) {
    if (c == '"') to += '"';
    to += c;
  }
  to += '"';
}

std::string prediction_layout::header() const {
  std::string text = keyed ? "key" : "example";
  for (prediction_output const& one : outputs) {
    std::int64_t const elements = one.example.elements();
    for (std::int64_t i = 0; i < elements; ++i) {
      std::string index;
      std::int64_t remaining = i;
      for (int axis = one.example.rank; axis-- > 0; remaining /= one.example[axis]) {
        auto const at = static_cast<std::size_t>(remaining % one.example[axis]);
        bool const named = axis == one.example.rank - 1 && !one.classes.empty();
        index = "." + (named ? one.classes[at] : std::to_string(at)) + index;
      }
      text += ',';
      append_csv_field(text, elements == 1 && one.classes.empty() ? one.name : one.name + index);
    }
  }
  return text + '\n';
}

std::size_t prediction_layout::chunk_of(std::int64_t row) const {
  auto const after = std::ranges::upper_bound(chunks, row, {}, &prediction_chunk::row);
  return static_cast<std::size_t>(after - chunks.begin()) - 1;
}

std::string prediction_layout::example_of(std::int64_t row) const {
  prediction_chunk const& one = chunks[chunk_of(row)];
  std::int64_t const example = one.examples.first + row - one.row;
  return local ? text_of({"example ", example, " of rank ", one.rank}) : text_of({"example ", example});
}

}  // namespace cohort::detail
