// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cohort/data/normalisation.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/json.hpp>
#include <cohort/io/json_writer.hpp>
#include <memory>
#include <utility>

namespace cohort::detail {

/// Adds the maps to the descriptions of the parts.
void rescale_parts(std::vector<tensor_description>& parts,
                   std::vector<std::vector<channel_scaling>> const& maps, char const* kind) {
  if (maps.empty()) return;
  if (maps.size() != parts.size())
    throw shape_error({.what = "a normalisation does not match the data set",
                       .where = {"number of ", kind, "s"},
                       .expected = {maps.size()},
                       .got = {parts.size()}});
  for (std::size_t p = 0; p < parts.size(); ++p) {
    if (maps[p].empty()) continue;
    if (!parts[p].accepts(maps[p].size()))
      throw shape_error(
          {.what = "a normalisation does not match the data set",
           .where = {kind, ' ', parts[p].name},
           .expected = {maps[p].size(), " channels of f32 or f64"},
           .got = {to_string(parts[p].example), ", ",
                   parts[p].features == feature_axis::none ? "indices" : name_of(parts[p].type)}});
    parts[p].rescale(maps[p]);
  }
}

/// A data set whose description has the maps; the batch writer applies them.
class normalised_view final : public dataset_interface {
 public:
  normalised_view(dataset data, normalisation const& how)
      : data_(std::move(data)), description_(data_.describe()) {
    rescale_parts(description_.inputs, how.inputs, "input");
    rescale_parts(description_.targets, how.targets, "target");
  }

  data_description const& describe() const override { return description_; }
  bool indexed() const override { return data_.indexed(); }
  std::int64_t size() const override { return data_.size(); }
  void get(std::int64_t i, example_view& out) const override { data_.model().get(i, out); }
  bool locate(std::span<std::int64_t const> indices, std::size_t part,
              std::byte const** addresses) const override {
    return data_.model().locate(indices, part, addresses);
  }
  std::unique_ptr<stream_cursor> open(int shard, int shards, std::int64_t epoch,
                                      std::int64_t position) const override {
    return data_.model().open(shard, shards, epoch, position);
  }
  std::optional<std::int64_t> label(std::int64_t i) const override { return data_.label(i); }
  std::optional<int> length(std::int64_t i) const override { return data_.length(i); }

 private:
  dataset data_;
  data_description description_;
};

void write_maps(io::json_writer& out, char const* name,
                std::vector<std::vector<channel_scaling>> const& maps) {
  out.key(name).begin_array();
  for (std::vector<channel_scaling> const& part : maps) {
    out.begin_array();
    for (channel_scaling const& one : part) out.begin_array().value(one.scale).value(one.offset).end_array();
    out.end_array();
  }
  out.end_array();
}

std::vector<std::vector<channel_scaling>> read_maps(io::json_value list) {
  std::vector<std::vector<channel_scaling>> maps;
  for (io::json_value const part : list.items()) {
    maps.emplace_back();
    for (io::json_value const one : part.items()) {
      if (one.size() != 2) one.refuse("a scale and an offset");
      if (one.at(0).number() == 0) one.at(0).refuse("a scale other than 0");
      maps.back().push_back({one.at(0).number(), one.at(1).number()});
    }
  }
  return maps;
}

}  // namespace cohort::detail

namespace cohort {

std::string normalisation::to_json() const {
  io::json_writer out;
  out.begin_object();
  detail::write_maps(out, "inputs", inputs);
  detail::write_maps(out, "targets", targets);
  return out.end_object().text();
}

normalisation normalisation::from_json(std::string_view text, std::string const& where) {
  io::json_document const parsed = io::parse_json(text, where);
  io::json_value const root = parsed.root();
  root.expect_only({"inputs", "targets"});
  return {detail::read_maps(root.at("inputs")), detail::read_maps(root.at("targets"))};
}

dataset normalised(dataset const& data, normalisation const& how) {
  if (how.empty()) return data;
  return dataset(std::make_shared<detail::normalised_view const>(data, how));
}

}  // namespace cohort
