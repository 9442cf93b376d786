// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/codec/residual_simd.hpp>
#include <cohort/strategy/detail/f32_buffer.hpp>

namespace cohort::detail {

f32_buffer::f32_buffer(std::size_t n, threshold_device* device_passes)
    : size_(n),
      device_passes_(device_passes),
      memory_(round_to_alignment(n * sizeof(float)),
              device_passes ? device_passes->arrays().space() : nullptr) {}

void f32_buffer::clear() {
  if (device_passes_) return device_passes_->arrays().fill(memory_.data(), 0, room(), 0);
  std::ranges::fill(span(), 0.0F);
}

void f32_buffer::scale(float factor) {
  if (device_passes_) return device_passes_->arrays().scale(memory_.data(), room(), factor);
  passes_on_processor<float>()->scale(memory_.data(), size_, factor);
}

void f32_buffer::add(f32_buffer const& other) {
  if (device_passes_) return device_passes_->arrays().add(other.memory_.data(), memory_.data(), room());
  for (std::size_t i = 0; i < size_; ++i) span()[i] += other.span()[i];
}

void f32_buffer::copy(f32_buffer const& other) {
  if (device_passes_)
    return device_passes_->arrays().copy(other.memory_.data(), memory_.data(), memory_.bytes());
  std::ranges::copy(other.span(), span().begin());
}

bool f32_buffer::is_within_range() const {
  return device_passes_ ? device_passes_->within(span(), largest_gradient) : within_range(best_isa(), span());
}

double f32_buffer::square_sum() const {
  return device_passes_ ? device_passes_->square_sum(span()) : residual_square_sum(best_isa(), span());
}

void f32_buffer::assign(std::span<float const> from) {
  auto const bytes = std::as_bytes(from);
  if (device_passes_) return device_passes_->arrays().upload(bytes.data(), memory_.data(), bytes.size());
  std::ranges::copy(from, span().begin());
}

void f32_buffer::copy_to(std::span<float> to) const {
  auto const bytes = std::as_writable_bytes(to);
  if (device_passes_) return device_passes_->arrays().download(memory_.data(), bytes.data(), bytes.size());
  std::ranges::copy(span(), to.begin());
}

}  // namespace cohort::detail
