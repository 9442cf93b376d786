// SPDX-License-Identifier: Apache-2.0
#include <cohort/data/example_view.hpp>
#include <cohort/error/exceptions.hpp>
#include <cstring>

namespace cohort {

void example_view::allocate(data_description const& description) {
  parts_.resize(description.parts());
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    tensor_description const& d = description.part(part);
    parts_[part].bytes = static_cast<std::size_t>(d.example.elements()) * bytes_of(d.stored);
    parts_[part].type = d.stored;
    parts_[part].memory.resize(parts_[part].bytes);
  }
}

void example_view::refuse_part(std::size_t part) const {
  throw shape_error({.what = "the data set has no such part",
                     .where = {"part ", part},
                     .expected = {"0 to ", parts_.size() - 1, ", inputs first, then targets, then masks"},
                     .got = {part}});
}

void detail::example_parts::refuse(data_description const& description, std::size_t part,
                                   std::int64_t example, char const* of) {
  throw data_error({.what = "an example is incomplete",
                    .where = {description.part(part).name, ", example ", example, of},
                    .expected = "a call of point or fill for every part",
                    .got = {"none for part ", part}});
}

void example_view::refuse_type(std::size_t part, element_type type) const {
  throw shape_error({.what = "fill or edit was called with the wrong type",
                     .where = {"part ", part, " of the data set"},
                     .expected = {name_of(parts_[part].type), ", the type of the stored elements"},
                     .got = {name_of(type)}});
}

std::byte* example_view::copied(std::size_t part) {
  stored_part& one = parts_[part];
  if (one.data != one.memory.data()) std::memcpy(one.memory.data(), one.data, one.bytes);
  one.data = one.memory.data();
  return one.memory.data();
}

example_view& example_view::source(data_description const& description, std::size_t which) {
  std::unique_ptr<example_view>& one = sources_[which];
  if (!one) one = std::make_unique<example_view>();
  one->allocate(description);
  one->epoch = epoch;
  return *one;
}

}  // namespace cohort
