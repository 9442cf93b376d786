// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/strategy/merge_statistics.hpp>
#include <vector>

namespace cohort {

namespace detail {

/// Merges the moments of all ranks with two weighted sums. The first allreduce sums the ranks' means. The
/// second allreduce sums each rank's variance plus the squared distance of the rank's mean from the merged
/// mean. A merged variance is therefore not a difference of two large sums. Returns the bytes that this rank
/// passed to the allreduces.
std::size_t merge_moments(communicator& world, std::span<batch_statistics::layer const> layers,
                          std::span<batch_moments> all) {
  std::vector<double> sums(all.size() + layers.size());
  for (std::size_t i = 0; i < all.size(); ++i) sums[i] = all[i].weight * all[i].mean;
  for (std::size_t l = 0; l < layers.size(); ++l) sums[all.size() + l] = all[layers[l].first].weight;
  world.allreduce(std::span<double>(sums));
  std::vector<double> squares(all.size());
  for (std::size_t l = 0; l < layers.size(); ++l)
    for (std::size_t i = layers[l].first; i < layers[l].first + layers[l].channels; ++i) {
      double const own_weight = all[i].weight, own_mean = all[i].mean;
      all[i].weight = sums[all.size() + l];
      all[i].mean = all[i].weight > 0 ? sums[i] / all[i].weight : 0;
      squares[i] = own_weight * (all[i].variance + (own_mean - all[i].mean) * (own_mean - all[i].mean));
    }
  world.allreduce(std::span<double>(squares));
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i].variance = all[i].weight > 0 ? squares[i] / all[i].weight : 0;
  return (sums.size() + squares.size()) * sizeof(double);
}

void merge_running_statistics(communicator& world, replica const& mine, double weight, std::byte* to,
                              parameters_in how) {
  auto const table = mine.parameters.table();
  std::vector<batch_statistics::layer> const layers = statistics_layers(table);
  if (layers.empty() || world.size() == 1) return;
  std::vector<batch_moments> all(layers.back().first + layers.back().channels);
  with_real(mine.parameters.type(), [&]<class T>(T*) {
    std::vector<T> values[2];  // means, variances
    auto const bytes_of_array = [&](int which) { return reinterpret_cast<std::byte*>(values[which].data()); };
    for (batch_statistics::layer const& one : layers) {
      for (int which : {0, 1}) {
        values[which].resize(one.channels);
        mine.parameters.read(one.parameter + which, mine.parameters.master(), bytes_of_array(which));
      }
      for (std::size_t c = 0; c < one.channels; ++c)
        all[one.first + c] = {weight, static_cast<double>(values[0][c]), static_cast<double>(values[1][c])};
    }
    merge_moments(world, layers, all);
    if (!(all[0].weight > 0)) return;
    for (batch_statistics::layer const& one : layers)
      for (int which : {0, 1}) {
        values[which].resize(one.channels);
        for (std::size_t c = 0; c < one.channels; ++c) {
          batch_moments const& merged = all[one.first + c];
          values[which][c] = static_cast<T>(which == 0 ? merged.mean : merged.variance);
        }
        parameter const& p = table[static_cast<std::size_t>(one.parameter + which)];
        if (how == parameters_in::dense)
          std::copy_n(values[which].data(), one.channels, reinterpret_cast<T*>(to) + p.first);
        else
          mine.parameters.write(one.parameter + which, bytes_of_array(which), to);
      }
  });
}

}  // namespace detail

std::size_t merge_statistics(communicator& world, batch_statistics& mine) {
  if (mine.channels() == 0 || world.size() == 1) return 0;
  std::vector<batch_statistics::moments> all(mine.channels());
  mine.read(all);
  std::size_t const sent = detail::merge_moments(world, mine.layers(), all);
  mine.write(all);
  return sent;
}

}  // namespace cohort
