// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/execution/flat_pass.hpp>
#include <cohort/plan/parameter_set.hpp>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace cohort {

/// The gradients of one step before the update: a part of each worker, all in the master's layouts.
///
/// Order     parts are summed in the workers' order: one result for one number of workers.
/// Exact     packing a bucket, or packing it and putting the same back, changes no bit of the update.
class gradient_parts {
 public:
  gradient_parts(parameter_set const& parameters, std::vector<std::byte*> parts)
      : parameters_(parameters), parts_(std::move(parts)) {}

  parameter_set const& parameters() const { return parameters_; }
  /// What the updater sums.
  std::span<std::byte* const> all() const { return parts_; }

  /// The sum of the bucket's parts.
  /// After     the first part has the sum, the others zeros.
  void sum(bucket const& b) {
    for (int p = b.first_parameter; p < b.first_parameter + b.parameters; ++p)
      for (std::size_t part = 1; part < parts_.size(); ++part) {
        add_to_first(p, part);
        clear(p, part);
      }
  }
  std::byte* first() const { return parts_[0]; }

  /// The bucket's gradient of the whole rank: dense, canonical, `bucket.elements` of the set's type.
  /// After     as sum.
  void pack(bucket const& b, std::byte* dense) {
    sum(b);
    for (int p = b.first_parameter; p < b.first_parameter + b.parameters; ++p)
      parameters_.read(p, parts_[0], dense + offset(b, p));
  }

  /// Puts an exchanged gradient in the place of the bucket's sum.  Before: pack, or sum.
  void unpack(bucket const& b, std::byte const* dense) {
    for (int p = b.first_parameter; p < b.first_parameter + b.parameters; ++p)
      parameters_.write(p, dense + offset(b, p), parts_[0]);
  }

 private:
  parameter const& entry(int p) const { return parameters_.table()[static_cast<std::size_t>(p)]; }
  std::size_t offset(bucket const& b, int p) const {
    return static_cast<std::size_t>(entry(p).first - b.first) * bytes_of(parameters_.type());
  }
  std::byte* place(int p, std::size_t part) const {
    return parts_[part] + entry(p).offset * bytes_of(parameters_.type());
  }
  void clear(int p, std::size_t part) {
    std::memset(place(p, part), 0, entry(p).room * bytes_of(parameters_.type()));
  }
  void add_to_first(int p, std::size_t part) {
    detail::with_real(parameters_.type(), [&]<class T>(T*) {
      T* const sum = reinterpret_cast<T*>(place(p, 0));
      T const* const summands[]{sum, reinterpret_cast<T const*>(place(p, part))};
      sum_parts(best_isa(), sum, summands, 2, entry(p).room);
    });
  }

  parameter_set const& parameters_;
  std::vector<std::byte*> parts_;
};

}  // namespace cohort
