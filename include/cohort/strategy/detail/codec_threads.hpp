// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/codec/tensor_table.hpp>
#include <cohort/codec/threshold_device.hpp>
#include <cohort/execution/team.hpp>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace cohort::detail {

/// The threads by which a rank writes and reads messages: one a worker, where there is enough to do to wake them.
class codec_threads {
 public:
  static constexpr std::uint64_t least_elements = std::uint64_t{1}
                                                  << 20;  // about a millisecond of one thread

  void set(int workers) { workers_ = workers; }

  /// make(table, threads, elsewhere) where there is a device that the codec can work on; make(table, threads), which are null for
  /// the caller alone; or make(table).
  template <class Make>
  auto make(Make const& make, tensor_table table, threshold_device_source* device = nullptr) {
    using passes = std::shared_ptr<threshold_device>;
    if constexpr (std::is_invocable_v<Make const&, tensor_table, team*, passes>) {
      static_assert(
          requires { make(table, nullptr, passes()).device_passes(); },
          "a compressor that is given the passes of a device says by elsewhere() whether it uses them");
      if (device) return make(std::move(table), nullptr, device->thresholds());
    }
    if constexpr (std::is_invocable_v<Make const&, tensor_table, team*>) {
      bool const many = workers_ > 1 && table.elements() >= least_elements;
      if (many && !team_) team_ = std::make_unique<team>(workers_);
      return make(std::move(table), many ? team_.get() : nullptr);
    } else {
      return make(std::move(table));
    }
  }

 private:
  int workers_ = 1;
  std::unique_ptr<team> team_;
};

}  // namespace cohort::detail
