// SPDX-License-Identifier: Apache-2.0
#include <cohort/plan/batch_statistics.hpp>
#include <cstring>

namespace cohort {

namespace detail {

std::vector<batch_statistics::layer> statistics_layers(std::span<parameter const> table) {
  std::vector<batch_statistics::layer> layers;
  std::size_t first = 0;
  for (std::size_t p = 0; p < table.size(); ++p) {
    if (table[p].spec.role != parameter_role::running_mean || table[p].frozen) continue;
    auto const channels = static_cast<std::size_t>(table[p].spec.dims.elements());
    layers.push_back({static_cast<int>(p), first, channels});
    first += channels;
  }
  return layers;
}

}  // namespace detail

batch_statistics::batch_statistics(parameter_set const& parameters, std::size_t workers)
    : passes_(&parameters.passes()),
      type_(parameters.type()),
      layers_(detail::statistics_layers(parameters.table())) {
  if (!layers_.empty()) channels_ = layers_.back().first + layers_.back().channels;
  for (std::size_t w = 0; w < workers; ++w)
    parts_.emplace_back(channels_ * sizeof(moments), passes_->space());
}

std::span<batch_statistics::layer const> batch_statistics::layers() const { return layers_; }

batch_statistics::moments* batch_statistics::part(std::size_t worker) const {
  return channels_ > 0 ? parts_[worker].as<moments>() : nullptr;
}

void batch_statistics::clear(std::size_t worker) {
  if (channels_ > 0) passes_->scale(parts_[worker].data(), channels_ * sizeof(moments) / bytes_of(type_), 0);
}

void batch_statistics::clear() {
  for (std::size_t w = 0; w < parts_.size(); ++w) clear(w);
}

void batch_statistics::merge_workers() {
  for (std::size_t w = 1; w < parts_.size() && channels_ > 0; ++w) {
    passes_->merge_moments(part(w), part(0), channels_);
    clear(w);
  }
}

void batch_statistics::read(std::span<moments> to) const {
  if (channels_ == 0) return;
  if (passes_->space())
    passes_->download(parts_[0].data(), reinterpret_cast<std::byte*>(to.data()), to.size_bytes());
  else
    std::memcpy(to.data(), part(0), to.size_bytes());
}

void batch_statistics::write(std::span<moments const> from) {
  if (channels_ == 0) return;
  if (passes_->space())
    passes_->upload(reinterpret_cast<std::byte const*>(from.data()), parts_[0].data(), from.size_bytes());
  else
    std::memcpy(part(0), from.data(), from.size_bytes());
}

void batch_statistics::follow(parameter_set& parameters, parameter_range const& which) const {
  for (layer const& one : layers_) {
    if (!which.has(one.parameter)) continue;
    auto const p = static_cast<std::size_t>(one.parameter);
    parameter const &of_mean = parameters.table()[p], &of_variance = parameters.table()[p + 1];
    passes_->follow_statistics(parameters.master(), of_mean.offset, of_variance.offset, part(0) + one.first,
                               one.channels, of_mean.spec.momentum);
  }
}

}  // namespace cohort
