// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/data/detail/same_examples.hpp>
#include <cohort/error/exceptions.hpp>
#include <cstddef>
#include <string>

namespace cohort::detail {

/// Describes the properties of a tensor that determine its bytes.
std::string layout_text(tensor_description const& part) {
  return text_of({to_string(part.example), " of ", name_of(part.stored), " as ", name_of(part.type),
                  ", scale ", part.scale, ", offset ", part.offset,
                  part.mask < 0 ? "" : text_of({", mask ", part.mask})});
}

/// Throws if the tensors of a data set differ from those of the first data set.
void require_same_descriptions(data_description const& first, data_description const& other,
                               std::string const& where) {
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
    if (a.feature_names != b.feature_names) {
      auto const [x, y] = std::ranges::mismatch(a.feature_names, b.feature_names);
      refuse("the data sets have different columns", a.name,
             x == a.feature_names.end() ? "no further column" : *x,
             y == b.feature_names.end() ? "no column" : *y);
    }
    if (a.pipeline && b.pipeline && *a.pipeline != *b.pipeline) {
      auto const kind_of = [](std::uint64_t pipeline) {
        return pipeline == 0 ? "rows as in a file" : "prepared rows";
      };
      refuse("the data sets are not prepared by the same pipeline", a.name, kind_of(*a.pipeline),
             *a.pipeline != 0 && *b.pipeline != 0 ? "rows that another pipeline has prepared"
                                                  : kind_of(*b.pipeline));
    }
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

void require_same_examples(std::vector<dataset> const& parts, std::string_view user) {
  if (parts.empty())
    throw setting_error(
        {.what = "no data sets", .where = std::string(user), .expected = "at least 1 data set", .got = "0"});
  for (std::size_t which = 0; which < parts.size(); ++which) {
    parts[which].require_random_access(std::string(user).c_str());
    require_same_descriptions(parts[0].describe(), parts[which].describe(),
                              text_of({user, ", data set ", which}));
  }
}

}  // namespace cohort::detail
