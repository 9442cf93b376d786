// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/codec/tensor_table.hpp>
#include <cohort/plan/parameter_set.hpp>
#include <cohort/plan/replica.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cohort::detail {

/// The elements of a network that are exchanged as messages: the trained parameters as packed f32. Running
/// statistics and frozen layers are not exchanged.
///
/// Shapes    each trained parameter has a contiguous range of the table().elements() elements, in the order
///           of the parameters.
class shared_elements {
 public:
  explicit shared_elements(parameter_set const& parameters);

  tensor_table const& table() const { return table_; }
  /// Sets whether the array that is passed to read() and write() as `shared` is in the memory of the arenas'
  /// device. Initially, the array is in the processor's memory.
  void set_on_device(bool on_device) { on_device_ = on_device; }

  /// Copies parameters [begin, end) of an arena to the shared elements.
  void read(parameter_set const& parameters, int begin, int end, std::byte const* arena,
            std::span<float> shared);
  /// Copies all parameters.
  void read(parameter_set const& parameters, std::byte const* arena, std::span<float> shared);

  /// Copies all shared elements to an arena.
  void write(parameter_set const& parameters, std::span<float const> shared, std::byte* arena);

  /// x = before − after, for two arrays in the canonical flat view.
  void difference(element_type type, std::byte const* before, std::byte const* after,
                  std::span<float> x) const;
  /// w −= x in the canonical flat view.
  void subtract(element_type type, std::byte* w, std::span<float const> x) const;
  /// Writes `before` − factor·x to an arena; parameters that are not shared keep their values.
  /// After: `before` also has the new values.
  void apply(parameter_set const& parameters, std::byte* before, std::span<float const> x, double factor,
             std::byte* arena) const;

 private:
  struct range {
    bool is_shared;
    std::uint64_t first;
    std::size_t count;
    std::size_t dense_first;  // index in the canonical flat view
  };

  template <class T>
  static void subtract(range const& from, T* w, std::span<float const> x, double factor);

  template <class F>
  void for_each_shared(int begin, int end, F f) const;

  std::vector<range> ranges_;
  tensor_table table_;
  std::vector<double> f64_;  // a parameter's elements during a conversion
  bool on_device_ = false;
};

/// The step that a rank's own optimizer has taken, in the canonical flat view.
class own_step {
 public:
  /// Stores the parameters before the step.
  void begin(replica const& mine);
  /// x = parameters before the step − parameters now.
  void read(replica const& mine, shared_elements const& elements, std::span<float> x);
  /// Replaces the step: parameters = parameters before the step − factor·x, with constraints.
  void replace(replica const& mine, shared_elements const& elements, std::span<float const> x, double factor);

 private:
  buffer before_;
  buffer after_;
};

}  // namespace cohort::detail
