// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/strategy/detail/shared_elements.hpp>

namespace cohort::detail {

shared_elements::shared_elements(parameter_set const& parameters) {
  std::vector<tensor_table::tensor> tensors;
  std::uint64_t first = 0;
  for (parameter const& p : parameters.table()) {
    ranges_.push_back({p.trains(), first, static_cast<std::size_t>(p.spec.dims.elements()),
                       static_cast<std::size_t>(p.first)});
    if (!p.trains()) continue;
    tensors.push_back({p.name, ranges_.back().count});
    first += ranges_.back().count;
  }
  table_ = tensor_table(tensors);
}

template <class T>
void shared_elements::subtract(range const& from, T* w, std::span<float const> x, double factor) {
  for (std::size_t i = 0; i < from.count; ++i)
    w[from.dense_first + i] -= static_cast<T>(factor) * static_cast<T>(x[from.first + i]);
}

template <class F>
void shared_elements::for_each_shared(int begin, int end, F f) const {
  for (int p = begin; p < end; ++p)
    if (range const& one = ranges_[static_cast<std::size_t>(p)]; one.is_shared) f(p, one);
}

void shared_elements::read(parameter_set const& parameters, int begin, int end, std::byte const* arena,
                           std::span<float> shared) {
  for_each_shared(begin, end, [&](int p, range const& one) {
    std::span<float> const to = shared.subspan(one.first, one.count);
    if (on_device_) return parameters.read_on_device(p, arena, reinterpret_cast<std::byte*>(to.data()));
    if (parameters.type() == element_type::f32)
      return parameters.read(p, arena, reinterpret_cast<std::byte*>(to.data()));
    f64_.resize(one.count);
    parameters.read(p, arena, reinterpret_cast<std::byte*>(f64_.data()));
    std::transform(f64_.begin(), f64_.end(), to.begin(), [](double x) { return static_cast<float>(x); });
  });
}

void shared_elements::read(parameter_set const& parameters, std::byte const* arena, std::span<float> shared) {
  read(parameters, 0, static_cast<int>(ranges_.size()), arena, shared);
}

void shared_elements::write(parameter_set const& parameters, std::span<float const> shared,
                            std::byte* arena) {
  for_each_shared(0, static_cast<int>(ranges_.size()), [&](int p, range const& one) {
    std::span<float const> const from = shared.subspan(one.first, one.count);
    if (on_device_)
      return parameters.write_on_device(p, reinterpret_cast<std::byte const*>(from.data()), arena);
    if (parameters.type() == element_type::f32)
      return parameters.write(p, reinterpret_cast<std::byte const*>(from.data()), arena);
    f64_.assign(from.begin(), from.end());
    parameters.write(p, reinterpret_cast<std::byte const*>(f64_.data()), arena);
  });
}

void shared_elements::difference(element_type type, std::byte const* before, std::byte const* after,
                                 std::span<float> x) const {
  with_real(type, [&]<class T>(T*) {
    T const* const w = reinterpret_cast<T const*>(before);
    T const* const now = reinterpret_cast<T const*>(after);
    for_each_shared(0, static_cast<int>(ranges_.size()), [&](int, range const& one) {
      for (std::size_t i = 0; i < one.count; ++i)
        x[one.first + i] = static_cast<float>(w[one.dense_first + i] - now[one.dense_first + i]);
    });
  });
}

void shared_elements::subtract(element_type type, std::byte* w, std::span<float const> x) const {
  with_real(type, [&]<class T>(T*) {
    for_each_shared(0, static_cast<int>(ranges_.size()),
                    [&](int, range const& one) { subtract(one, reinterpret_cast<T*>(w), x, 1); });
  });
}

void shared_elements::apply(parameter_set const& parameters, std::byte* before, std::span<float const> x,
                            double factor, std::byte* arena) const {
  with_real(parameters.type(), [&]<class T>(T*) {
    T* const w = reinterpret_cast<T*>(before);
    for_each_shared(0, static_cast<int>(ranges_.size()), [&](int p, range const& one) {
      subtract(one, w, x, factor);
      parameters.write(p, reinterpret_cast<std::byte const*>(w + one.dense_first), arena);
    });
  });
}

void own_step::begin(replica const& mine) {
  if (before_.bytes() != mine.bytes()) before_ = buffer(mine.bytes());
  if (after_.bytes() != mine.bytes()) after_ = buffer(mine.bytes());
  mine.read(0, before_.data());
}

void own_step::read(replica const& mine, shared_elements const& elements, std::span<float> x) {
  mine.read(0, after_.data());
  elements.difference(mine.parameters.type(), before_.data(), after_.data(), x);
}

void own_step::replace(replica const& mine, shared_elements const& elements, std::span<float const> x,
                       double factor) {
  elements.apply(mine.parameters, before_.data(), x, factor, mine.parameters.master());
  mine.update.constrain(0, 1);
  mine.parameters.mark_changed();
}

}  // namespace cohort::detail
