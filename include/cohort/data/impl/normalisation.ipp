// SPDX-License-Identifier: Apache-2.0
#include <cohort/data/normalisation.hpp>
#include <cohort/error/exceptions.hpp>
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

}  // namespace cohort::detail

namespace cohort {

dataset normalised(dataset const& data, normalisation const& how) {
  if (how.empty()) return data;
  return dataset(std::make_shared<detail::normalised_view const>(data, how));
}

}  // namespace cohort
