// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/execution/flat_pass.hpp>
#include <cohort/plan/parameter_set.hpp>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace cohort {

/// The gradients of one step before the update: a part of each worker, all in the master's layouts.
///
/// Order     parts are summed in the workers' order: one result for one number of workers.
class gradient_parts {
 public:
  gradient_parts(parameter_set const& parameters, std::vector<std::byte*> parts)
      : parameters_(parameters), parts_(std::move(parts)), one_(parts_.begin(), parts_.begin() + 1) {}

  /// What the updater reads: every part, or the first alone once an exchange has put its result there.
  std::span<std::byte* const> to_update() const { return exchanged_ ? one_ : parts_; }
  void begin_step() { exchanged_ = false; }

  /// The bucket's gradient of the whole rank: dense, canonical, `bucket.elements` of the set's type.
  void pack(bucket const& b, std::byte* dense) const {
    for (std::size_t part = 1; part < parts_.size(); ++part) add_to_first(b, part);
    each(b, [&](int p, std::size_t at) { parameters_.read(p, parts_[0], dense + at); });
  }
  /// Puts an exchanged gradient back; from then on it is the only part.
  void unpack(bucket const& b, std::byte const* dense) {
    each(b, [&](int p, std::size_t at) { parameters_.write(p, dense + at, parts_[0]); });
    exchanged_ = true;
  }

 private:
  template <class Visit>
  void each(bucket const& b, Visit visit) const {
    for (int i = 0; i < b.parameters; ++i) {
      int const p = b.first_parameter + i;
      visit(p, static_cast<std::size_t>(parameters_.table()[static_cast<std::size_t>(p)].first - b.first)
                   * bytes_of(parameters_.type()));
    }
  }
  void add_to_first(bucket const& b, std::size_t part) const {
    each(b, [&](int p, std::size_t) {
      parameter const& one = parameters_.table()[static_cast<std::size_t>(p)];
      auto const add = [&]<class T>(T*) {
        T* const sum = reinterpret_cast<T*>(parts_[0]) + one.offset;
        T const* const summands[]{sum, reinterpret_cast<T const*>(parts_[part]) + one.offset};
        sum_parts(best_isa(), sum, summands, 2, one.room);
      };
      parameters_.type() == element_type::f64 ? add(static_cast<double*>(nullptr)) : add(static_cast<float*>(nullptr));
    });
  }

  parameter_set const& parameters_;
  std::vector<std::byte*> parts_;
  std::vector<std::byte*> one_;
  bool exchanged_ = false;
};

}  // namespace cohort
