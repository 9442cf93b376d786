// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <array>
#include <cohort/layer/host_kernel.hpp>
#include <cohort/layer/layer.hpp>
#include <cstddef>
#include <span>

/// Broadcasting, as NumPy and ONNX define it: the tensors' last axes are aligned, and along each axis the
/// extents are equal or 1. A tensor is repeated along the axes that it lacks and along the axes where its
/// extent is 1.
namespace cohort::detail {

/// Extent of `s` along axis `axis` of a result of `rank` axes; 1 if `s` lacks the axis.
constexpr int aligned_extent(shape const& s, int axis, int rank) {
  int const own = axis - (rank - s.rank);
  return own < 0 ? 1 : s[own];
}

constexpr bool broadcast_fits(shape const& a, shape const& b) {
  int const rank = std::max(a.rank, b.rank);
  for (int axis = 0; axis < rank; ++axis) {
    int const one = aligned_extent(a, axis, rank), other = aligned_extent(b, axis, rank);
    if (one != other && one != 1 && other != 1) return false;
  }
  return true;
}

/// The smallest shape to which all inputs can be broadcast.
///
/// Before    every two inputs can be broadcast to a common shape.
constexpr shape broadcast_shape(std::span<shape const> inputs) {
  shape result;
  for (shape const& one : inputs) result.rank = std::max(result.rank, one.rank);
  for (int axis = 0; axis < result.rank; ++axis) {
    result[axis] = 1;
    for (shape const& one : inputs)
      if (int const extent = aligned_extent(one, axis, result.rank); extent != 1) result[axis] = extent;
  }
  return result;
}

/// Shape inference of an elementwise layer. `sentence`: the message for shapes that cannot be broadcast.
///
/// Errors    a vector and a tensor with more axes are rejected, although NumPy would align the vector with
///           the last axis. The channels of images are the first axis, so users could expect that the vector
///           contains one value per channel.
constexpr inference infer_broadcast(std::span<shape const> inputs, char const* sentence) {
  for (shape const& one : inputs)
    for (shape const& other : inputs)
      if (one.rank == 1 && one[0] > 1 && other.rank > 1)
        return {other.rank == 2
                    ? "a vector is not broadcast over a sequence: reshape it to {1, C} for one value per "
                      "channel"
                    : "a vector is not broadcast over more axes: reshape it to {C, 1, 1} for one value per "
                      "channel",
                {"vector", one},
                {"tensor", other}};
  for (std::size_t right = 1; right < inputs.size(); ++right)
    for (std::size_t left = 0; left < right; ++left)
      if (!broadcast_fits(inputs[left], inputs[right]))
        return {sentence, {"left", inputs[left]}, {"right", inputs[right]}};
  return broadcast_shape(inputs);
}

/// FLOPs of an elementwise layer: one per output element for each input after the first.
constexpr double flops_of_join(std::span<shape const> inputs) {
  return static_cast<double>(inputs.size() - 1) * static_cast<double>(broadcast_shape(inputs).elements());
}

/// Iterates over the elements of a broadcast result in runs, along which each input either advances by one
/// element or repeats one.
///
/// Shapes    up to `max_inputs` inputs; the batch is the first axis of all tensors.
class broadcast_runs {
 public:
  static constexpr std::size_t max_inputs = 64;
  using offsets = std::array<std::size_t, max_inputs>;

  constexpr broadcast_runs(std::span<shape const> inputs, shape const& output, int batch)
      : inputs_(inputs.size()), whole_(output.elements() * batch) {
    offsets distance{};
    for (std::size_t x = 0; x < inputs_; ++x) {
      distance[x] = 1;
      elements_[x] = static_cast<std::size_t>(inputs[x].elements() * batch);
    }
    for (int axis = output.rank - 1; axis >= -1; --axis) {  // from the innermost axis to the batch
      int const extent = axis < 0 ? batch : output[axis];
      if (extent == 1) continue;
      offsets steps{};
      for (std::size_t x = 0; x < inputs_; ++x) {
        int const own = axis < 0 ? batch : aligned_extent(inputs[x], axis, output.rank);
        steps[x] = own == 1 ? 0 : distance[x];
        distance[x] *= static_cast<std::size_t>(own);
      }
      if (!joins_last(steps)) {
        steps_[static_cast<std::size_t>(axes_)] = steps;
        extents_[static_cast<std::size_t>(axes_++)] = static_cast<std::size_t>(extent);
      } else {
        extents_[static_cast<std::size_t>(axes_ - 1)] *= static_cast<std::size_t>(extent);
      }
    }
    if (axes_ == 0) extents_[static_cast<std::size_t>(axes_++)] = 1;
  }

  /// Number of elements by which input x advances for each output element of a run: 1 or 0.
  constexpr std::size_t step(std::size_t x) const { return steps_[0][x]; }
  /// Returns whether several output elements read the same element of input x.
  constexpr bool repeats(std::size_t x) const { return elements_[x] != static_cast<std::size_t>(whole_); }
  constexpr std::size_t elements(std::size_t x) const { return elements_[x]; }

  /// Calls visit(first, count, from) for each run, in the order of the output. `first`: the run's first
  /// output element; `count`: its number of elements; from[x]: position of the element of input x that the
  /// first output element reads.
  template <class Visit>
  constexpr void each(Visit&& visit) const {
    offsets from{};
    std::array<std::size_t, shape::max_rank + 1> at{};
    for (std::size_t first = 0; first < static_cast<std::size_t>(whole_); first += extents_[0]) {
      visit(first, extents_[0], from);
      for (std::size_t axis = 1; axis < static_cast<std::size_t>(axes_); ++axis) {
        bool const carries = ++at[axis] == extents_[axis];
        for (std::size_t x = 0; x < inputs_; ++x)
          from[x] += steps_[axis][x] - (carries ? steps_[axis][x] * extents_[axis] : 0);
        if (!carries) break;
        at[axis] = 0;
      }
    }
  }

 private:
  /// Returns whether the next axis can be merged with the last recorded one: in every input, one stride is
  /// enough for both axes.
  constexpr bool joins_last(offsets const& steps) const {
    if (axes_ == 0) return false;
    auto const last = static_cast<std::size_t>(axes_ - 1);
    for (std::size_t x = 0; x < inputs_; ++x)
      if (steps[x] != steps_[last][x] * extents_[last]) return false;
    return true;
  }

  std::size_t inputs_;
  std::int64_t whole_;
  int axes_ = 0;
  std::array<std::size_t, shape::max_rank + 1> extents_{};  // innermost first
  std::array<offsets, shape::max_rank + 1> steps_{};
  offsets elements_{};
};

/// Writes the gradient of input x to diff_inputs[x]. The gradient of an element is a sum over the output
/// elements that read it. `multiply(part, count, from)` computes the summands in place. On entry, `part`
/// contains the gradients of `count` ≤ 256 adjacent output elements; on return, it contains the summands of
/// these elements. `from[i]`: position of the element of input i that the first of the output elements reads.
///
/// Exact     the order of the additions depends on the shapes only.
template <class T, class Multiply>
void broadcast_gradient(host_arguments<T> const& a, broadcast_runs const& runs, std::size_t x,
                        Multiply multiply) {
  constexpr std::size_t piece = 256;
  T* const diff = a.diff_inputs[x];
  bool const repeats = runs.repeats(x);
  if (repeats) std::fill_n(diff, runs.elements(x), T(0));
  runs.each([&](std::size_t first, std::size_t count, broadcast_runs::offsets from) {
    T part[piece];
    for (std::size_t done = 0; done < count; done += piece) {
      std::size_t const n = std::min(piece, count - done);
      std::copy_n(a.diff_output + first + done, n, part);
      multiply(part, n, from);
      T* const to = diff + from[x];
      if (!repeats) {
        std::copy_n(part, n, to);
      } else if (runs.step(x) == 1) {
        for (std::size_t i = 0; i < n; ++i) to[i] += part[i];
      } else {
        T sum = 0;
        for (std::size_t i = 0; i < n; ++i) sum += part[i];
        *to += sum;
      }
      for (std::size_t y = 0; y < a.input_shapes.size(); ++y) from[y] += n * runs.step(y);
    }
  });
}

}  // namespace cohort::detail
