// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/data/description.hpp>
#include <cohort/detail/text.hpp>

namespace cohort {

channel_scaling channel_scaling::from(double zero, double unit) {
  double const scale = 1 / unit;
  return {scale, -zero * scale};
}

channel_scaling channel_scaling::then(channel_scaling const& next) const {
  return {scale * next.scale, offset * next.scale + next.offset};
}

std::vector<channel_scaling> detail::maps_in_memory(shape const& example,
                                                    std::span<channel_scaling const> maps) {
  std::vector<channel_scaling> all(maps.begin(), maps.end());
  bool const sequence = example.rank == 2 && maps.size() == static_cast<std::size_t>(example[1]);
  for (int step = 1; sequence && step < example[0]; ++step) all.insert(all.end(), maps.begin(), maps.end());
  return all;
}

std::string detail::text_of_part(shape const& example, element_type type) {
  if (type == element_type::i32 && example.rank == 0) return "one class index per example, i32";
  return text_of({example.elements() == 1 ? "one number" : to_string(example) + " numbers", " per example, ",
                  name_of(type)});
}

void tensor_description::rescale(std::span<channel_scaling const> maps) {
  std::vector<channel_scaling> const next = detail::maps_in_memory(example, maps),
                                     before = channels.empty() ? std::vector<channel_scaling>(1)
                                                               : detail::maps_in_memory(example, channels);
  channels.clear();
  std::size_t const count = std::max(before.size(), next.size());
  for (std::size_t c = 0; c < count; ++c)  // the larger number is a multiple of the smaller one
    channels.push_back(before[c * before.size() / count].then(next[c * next.size() / count]));
}

bool tensor_description::accepts(std::size_t maps) const {
  bool const numbers = type == element_type::f32 || type == element_type::f64;
  if (!numbers || features == feature_axis::none) return false;
  return maps == static_cast<std::size_t>(example.rank == 0 ? 1 : channels_of(example))
         || maps == static_cast<std::size_t>(example.elements());
}

std::size_t data_description::parts() const { return inputs.size() + targets.size() + masks.size(); }

tensor_description const& data_description::part(std::size_t which) const {
  if (which < inputs.size()) return inputs[which];
  which -= inputs.size();
  return which < targets.size() ? targets[which] : masks[which - targets.size()];
}

}  // namespace cohort
