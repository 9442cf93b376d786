// SPDX-License-Identifier: Apache-2.0
#include <cohort/data/channel_normalisation.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/tensor/finite.hpp>
#include <string>

namespace cohort::detail {

void normalise(tensor_description& part, channel_normalisation const& how) {
  if (how.mean.empty() && how.deviation.empty()) return;
  bool const is_number = part.type == element_type::f32 || part.type == element_type::f64;
  if (!is_number || part.example.rank == 0)
    throw shape_error({.what = "the tensor cannot be normalised",
                       .where = part.name,
                       .expected = "f32 or f64, channels x ...",
                       .got = {to_string(part.example), " of ", name_of(part.type)}});
  auto const channels = static_cast<std::size_t>(part.example[0]);
  auto const check = [&](char const* field, std::vector<double> const& list, double least,
                         char const* valid) {
    auto const refuse = [&](clause expected, clause got) {
      throw setting_error({.what = "invalid normalisation",
                           .where = {part.name, ", ", field},
                           .expected = std::move(expected),
                           .got = std::move(got)});
    };
    if (list.size() != channels) refuse({channels, " numbers, one per channel"}, {list.size()});
    for (double const one : list)
      if (!is_finite(one) || one < least) refuse(valid, {one});
  };
  check("mean", how.mean, -1e300, "a finite number");
  check("deviation", how.deviation, 1e-300, "a finite number above 0");
  std::vector<channel_scaling> maps;
  for (std::size_t c = 0; c < channels; ++c)
    maps.push_back(channel_scaling::from(how.mean[c], how.deviation[c]));
  part.rescale(maps);
}

}  // namespace cohort::detail
