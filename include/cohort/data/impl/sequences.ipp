// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/data/sequences.hpp>
#include <cohort/data/transform.hpp>
#include <cohort/error/exceptions.hpp>
#include <cstddef>
#include <cstring>
#include <utility>

namespace cohort::detail {

/// Location of an error in a series: "input, series 3".
std::string place_of(series_view const& from, std::size_t series) {
  return text_of({from.name, ", series ", series});
}

/// Throws data_error unless all labels are in range, or all numbers are finite.
template <class T>
void require_usable(series_view const& from, std::size_t series) {
  tensor_view const one = from.values[series];
  std::span<T const> const values = one.as<T>();
  auto const refuse = [&](auto bad, char const* what, clause expected) {
    std::size_t const width = values.size() / static_cast<std::size_t>(one.dims[0]);
    throw data_error(
        {.what = what,
         .where = {place_of(from, series), ", step ", static_cast<std::size_t>(bad - values.begin()) / width},
         .expected = std::move(expected),
         .got = {*bad}});
  };
  if constexpr (std::is_floating_point_v<T>) {
    auto const bad = std::ranges::find_if(values, [](T value) { return not_finite(value); });
    if (bad != values.end()) refuse(bad, "the data contains a number that is not finite", "a finite number");
  } else if (from.classes > 0) {
    auto const bad = std::ranges::find_if(values, [&](T label) {
      return static_cast<std::int64_t>(label) < 0 || static_cast<std::int64_t>(label) >= from.classes;
    });
    if (bad != values.end()) refuse(bad, "a class label is out of range", {"0 to ", from.classes - 1});
  }
}

void require_usable(series_view const& from, std::size_t series) {
  switch (from.values[series].type) {
    case element_type::u8:
      return require_usable<std::uint8_t>(from, series);
    case element_type::i32:
      return require_usable<std::int32_t>(from, series);
    case element_type::i64:
      return require_usable<std::int64_t>(from, series);
    case element_type::f64:
      return require_usable<double>(from, series);
    default:
      return require_usable<float>(from, series);
  }
}

}  // namespace cohort::detail

namespace cohort {

std::vector<tensor_view> series_of(tensor_view rows, std::span<int const> lengths) {
  std::vector<tensor_view> series;
  std::int64_t used = 0;
  std::int64_t const all = rows.dims.rank > 0 ? rows.dims[0] : 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] < 1)
      throw shape_error({.what = "the length of a series is not positive",
                         .where = {"series ", i},
                         .expected = "at least 1 row",
                         .got = {lengths[i]}});
    if (used + lengths[i] > all)
      throw shape_error({.what = "the series have more rows than the tensor",
                         .where = {"series ", i},
                         .expected = {"at most the remaining ", all - used, " of ", all, " rows"},
                         .got = {lengths[i]}});
    series.push_back(rows.rows(static_cast<int>(used), lengths[i]));
    used += lengths[i];
  }
  if (used != all)
    throw shape_error({.what = "the series have fewer rows than the tensor",
                       .where = "series_of",
                       .expected = {all, " rows in all series"},
                       .got = {used}});
  return series;
}

sequences::sequences(series_view const& input, sequence_settings const& how) : owner_(how.owner) {
  if (input.values.empty())
    throw shape_error({.what = "a data set has no series",
                       .where = "sequences",
                       .expected = "at least 1 series",
                       .got = "0"});
  for (std::size_t i = 0; i < input.values.size(); ++i) {
    shape const& dims = input.values[i].dims;
    if (dims.rank < 1 || dims.rank > 2)
      throw shape_error({.what = "a series has the wrong number of dimensions",
                         .where = detail::place_of(input, i),
                         .expected = "T x C or T",
                         .got = to_string(dims)});
    if (dims.elements() < 1)
      throw shape_error({.what = "a series is empty",
                         .where = detail::place_of(input, i),
                         .expected = "T x C or T of at least 1 element",
                         .got = to_string(dims)});
    lengths_.push_back(dims[0]);
  }
  int const longest = std::ranges::max(lengths_), steps = how.length > 0 ? how.length : longest;
  if (how.length < 0)
    throw setting_error({.what = "the length of the sequences is negative",
                         .where = "sequence_settings::length",
                         .expected = "at least 0; 0 is the length of the longest series",
                         .got = {how.length}});
  if (longest > steps)
    throw setting_error(
        {.what = "a series is longer than the sequences of the data set",
         .where = detail::place_of(
             input, static_cast<std::size_t>(std::ranges::find(lengths_, longest) - lengths_.begin())),
         .expected = {"at most ", steps, " steps (length; 0 is the length of the longest series)"},
         .got = {longest}});
  description_.masks.push_back(
      {.name = "mask", .example = shape(steps), .stored = element_type::u8, .type = element_type::u8});
  description_.inputs.push_back(add_series(input, true));
}

sequences::sequences(series_view const& input, array_view const& target, sequence_settings const& how)
    : sequences(input, how) {
  array_view unused = target;  // needed because `arrays` requires an input
  target_.emplace(std::vector{std::move(unused)}, std::vector{target});
  if (target_->size() != size())
    throw shape_error({.what = "the numbers of series and targets differ",
                       .where = target.name,
                       .expected = {size(), " targets"},
                       .got = {target_->size()}});
  description_.targets = target_->describe().targets;
}

sequences::sequences(series_view const& input, series_view const& target, sequence_settings const& how)
    : sequences(input, how) {
  if (target.values.size() != lengths_.size())
    throw shape_error({.what = "the numbers of series and targets differ",
                       .where = target.name,
                       .expected = {size(), " targets"},
                       .got = {target.values.size()}});
  for (std::size_t i = 0; i < lengths_.size(); ++i)
    if (target.values[i].dims.rank < 1 || target.values[i].dims[0] != lengths_[i])
      throw shape_error({.what = "a series and its targets have different numbers of steps",
                         .where = detail::place_of(target, i),
                         .expected = {lengths_[i], " steps"},
                         .got = to_string(target.values[i].dims)});
  description_.targets.push_back(add_series(target, false));
}

/// Checks all series of a part and returns the part's description.
tensor_description sequences::add_series(series_view const& from, bool input) {
  using enum element_type;
  tensor_view const& first = from.values[0];
  bool const integers = first.type == u8 || first.type == i32 || first.type == i64;
  for (std::size_t i = 0; i < from.values.size(); ++i) {
    tensor_view const& one = from.values[i];
    bool const same = one.type == first.type && one.dims.rank == first.dims.rank
                      && (one.dims.rank < 2 || one.dims[1] == first.dims[1]);
    if (!same)
      throw shape_error({.what = "the series differ in their channels or types",
                         .where = detail::place_of(from, i),
                         .expected = {"T", first.dims.rank < 2 ? "" : detail::text_of({"x", first.dims[1]}),
                                      " of ", name_of(first.type)},
                         .got = {to_string(one.dims), " of ", name_of(one.type)}});
    if (from.classes > 0 && (!integers || one.dims.rank != 1))
      throw shape_error({.what = "class labels are not integers, one per step",
                         .where = detail::place_of(from, i),
                         .expected = "T of u8, i32 or i64",
                         .got = {to_string(one.dims), " of ", name_of(one.type)}});
    detail::require_usable(from, i);
  }
  bool const indices = integers && first.dims.rank == 1;
  int const steps = description_.masks[0].example[0];
  tensor_description part{
      .name = from.name.empty() ? (input ? "input" : "target") : from.name,
      .example = indices ? shape{steps} : shape{steps, first.dims.rank == 2 ? first.dims[1] : 1},
      .stored = first.type,
      .type = from.as.value_or(indices            ? i32
                               : first.type == u8 ? f32
                                                  : first.type),
      .scale = from.scale,
      .offset = from.offset,
      .classes = from.classes,
      .label_names = from.label_names,
      .features = indices ? feature_axis::none : feature_axis::channels,
      .mask = 0,
      .feature_names = from.feature_names,
      .pipeline = from.pipeline};
  transform_of(part);
  series_.push_back(from.values);
  return part;
}

void sequences::get(std::int64_t i, example_view& out) const {
  auto const which = static_cast<std::size_t>(i);
  auto const fill = [&](std::size_t part, tensor_description const& description, tensor_view const& from) {
    std::byte* const to = out.fill(part);
    std::size_t const whole =
        static_cast<std::size_t>(description.example.elements()) * bytes_of(description.stored);
    std::memcpy(to, from.data, from.bytes());
    std::memset(to + from.bytes(), 0, whole - from.bytes());
  };
  fill(0, description_.inputs[0], series_[0][which]);
  if (target_) {
    example_rows const rows = target_->rows()[1];
    out.point(1, rows.first + which * rows.stride_bytes);
  } else {
    fill(1, description_.targets[0], series_[1][which]);
  }
  auto* const steps = out.fill<std::uint8_t>(2);
  std::fill_n(steps, lengths_[which], std::uint8_t{1});
  std::fill(steps + lengths_[which], steps + description_.masks[0].example[0], std::uint8_t{0});
}

}  // namespace cohort
