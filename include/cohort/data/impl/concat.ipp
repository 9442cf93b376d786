// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/data/concat.hpp>
#include <cohort/data/detail/indexed_view.hpp>
#include <cohort/detail/config.hpp>
#include <cohort/error/exceptions.hpp>
#include <cstddef>
#include <string>

namespace cohort::detail {

/// The examples of several data sets with equal descriptions.
class concatenated_examples final : public indexed_view {
 public:
  explicit concatenated_examples(std::vector<dataset> parts) : parts_(std::move(parts)) {
    for (dataset const& part : parts_) ends_.push_back(size() + part.size());
    located_ = std::ranges::all_of(parts_, [](dataset const& part) { return part.model().in_memory(); });
  }

  data_description const& describe() const override { return parts_[0].describe(); }
  std::int64_t size() const override { return ends_.empty() ? 0 : ends_.back(); }
  void get(std::int64_t i, example_view& out) const override {
    std::size_t const which = part_of(i);
    parts_[which].model().get(i - begin_of(which), out);
  }
  bool locate(std::span<std::int64_t const> indices, std::size_t part,
              std::byte const** addresses) const override {
    if (!located_) return false;
    for (std::size_t k = 0; k < indices.size(); ++k) {
      std::size_t const which = part_of(indices[k]);
      std::int64_t const inside = indices[k] - begin_of(which);
      parts_[which].model().locate({&inside, 1}, part, addresses + k);
    }
    return true;
  }
  std::optional<std::int64_t> label(std::int64_t i) const override {
    std::size_t const which = part_of(i);
    return parts_[which].label(i - begin_of(which));
  }
  std::optional<int> length(std::int64_t i) const override {
    std::size_t const which = part_of(i);
    return parts_[which].length(i - begin_of(which));
  }

 private:
  std::size_t part_of(std::int64_t i) const {
    return static_cast<std::size_t>(std::ranges::upper_bound(ends_, i) - ends_.begin());
  }
  std::int64_t begin_of(std::size_t which) const { return which == 0 ? 0 : ends_[which - 1]; }

  std::vector<dataset> parts_;
  std::vector<std::int64_t> ends_;
  bool located_ = false;
};

/// Describes the properties of a tensor that determine its bytes.
COHORT_CORE_INLINE std::string layout_text(tensor_description const& part) {
  return text_of({to_string(part.example), " of ", name_of(part.stored), " as ", name_of(part.type),
                  ", scale ", part.scale, ", offset ", part.offset,
                  part.mask < 0 ? "" : text_of({", mask ", part.mask})});
}

/// Throws if the tensors of data set `which` differ from those of the first data set.
COHORT_CORE_INLINE void require_same_examples(data_description const& first, data_description const& other,
                                              std::size_t which) {
  std::string const where = text_of({"concat, data set ", which});
  auto const refuse = [&](char const* what, std::string const& name, std::string expected, std::string got) {
    throw data_error({.what = what,
                      .where = name.empty() ? where : where + ", " + name,
                      .expected = std::move(expected),
                      .got = std::move(got)});
  };
  auto const counts = [](data_description const& d) {
    return text_of({d.inputs.size(), " inputs, ", d.targets.size(), " targets, ", d.masks.size(), " masks"});
  };
  if (counts(first) != counts(other))
    refuse("the data sets have different tensors", "", counts(first), counts(other));
  for (std::size_t part = 0; part < first.parts(); ++part) {
    tensor_description const &a = first.part(part), &b = other.part(part);
    if (a.name != b.name) refuse("the data sets have different tensors", "", a.name, b.name);
    if (layout_text(a) != layout_text(b))
      throw shape_error({.what = "the data sets' tensors differ",
                         .where = where + ", " + a.name,
                         .expected = layout_text(a),
                         .got = layout_text(b)});
    if (a.channels != b.channels || a.features != b.features)
      refuse("the data sets are normalised differently", a.name, "the same normalisation",
             "another one, or none");
    if (a.classes != b.classes)
      refuse("the data sets have different classes", a.name, text_of({a.classes, " classes"}),
             text_of({b.classes, " classes"}));
    auto const [x, y] = std::ranges::mismatch(a.label_names, b.label_names);
    if (x != a.label_names.end() || y != b.label_names.end())
      refuse("the data sets have different label names", a.name,
             x == a.label_names.end() ? "no further name" : *x, y == b.label_names.end() ? "no name" : *y);
  }
  if (first.weighted != other.weighted)
    refuse("only some of the data sets are weighted", "", first.weighted ? "weights" : "no weights",
           other.weighted ? "weights" : "no weights");
  if (first.keyed != other.keyed)
    refuse("only some of the data sets are keyed", "", first.keyed ? "keys" : "no keys",
           other.keyed ? "keys" : "no keys");
}

}  // namespace cohort::detail

namespace cohort {

COHORT_CORE_INLINE dataset concat(std::vector<dataset> parts) {
  if (parts.empty())
    throw setting_error({.what = "no data sets to concatenate",
                         .where = "concat",
                         .expected = "at least 1 data set",
                         .got = "0"});
  for (std::size_t which = 0; which < parts.size(); ++which) {
    parts[which].require_random_access("concat");
    detail::require_same_examples(parts[0].describe(), parts[which].describe(), which);
  }
  return dataset(std::make_shared<detail::concatenated_examples const>(std::move(parts)));
}

}  // namespace cohort
