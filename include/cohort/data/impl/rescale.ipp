// SPDX-License-Identifier: Apache-2.0
#include <cohort/data/dataset.hpp>
#include <cohort/data/detail/rescale.hpp>
#include <cstddef>

namespace cohort::detail {

/// Replaces each element x by (x − offset) / scale.
template <class T>
void map_back(std::span<T> examples, std::size_t each, std::span<channel_scaling const> maps) {
  T* at = examples.data();
  while (at != examples.data() + examples.size())
    for (channel_scaling const& one : maps)
      for (T* const end = at + each; at != end; ++at)
        *at = static_cast<T>((static_cast<double>(*at) - one.offset) / one.scale);
}

void rescale(mutable_tensor_view examples, std::span<channel_scaling const> maps, direction which) {
  if (maps.empty() || examples.dims[0] == 0) return;
  tensor_description const part{.example = examples.dims.example(),
                                .stored = examples.type,
                                .type = examples.type,
                                .channels = maps_in_memory(examples.dims.example(), maps)};
  std::size_t const each = static_cast<std::size_t>(part.example.elements()) / part.channels.size();
  if (which == direction::forth) {  // the same bits as in a batch, which part_writer also rescales
    part_writer const writer(part);
    for (int row = 0; row < examples.dims[0]; ++row) {
      std::byte* const at = examples.data + static_cast<std::size_t>(row) * writer.bytes;
      writer(at, at);
    }
  } else if (examples.type == element_type::f64) {
    map_back<double>(examples.as<double>(), each, part.channels);
  } else {
    map_back<float>(examples.as<float>(), each, part.channels);
  }
}

}  // namespace cohort::detail
