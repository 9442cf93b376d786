// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/codec/tensor_table.hpp>
#include <cohort/codec/threshold_device.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/execution/team.hpp>
#include <cohort/strategy/detail/replicas.hpp>
#include <cohort/strategy/detail/saved_values.hpp>
#include <cohort/strategy/detail/shared_elements.hpp>
#include <cohort/strategy/detail/unsynced_statistics.hpp>
#include <cohort/strategy/detail/weighted_sum.hpp>
#include <cohort/strategy/sharing_settings.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace cohort::detail {

/// Type of the compressor that make(tensor_table) returns.
template <class Make>
using codec_of = std::invoke_result_t<Make const&, tensor_table>;

/// Threads with which a rank encodes and decodes messages: one per worker if the exchanged array has at least
/// `least_elements` elements, otherwise only the calling thread.
class codec_threads {
 public:
  /// Smallest number of elements for several threads: one thread encodes them in about a millisecond.
  static constexpr std::uint64_t least_elements = std::uint64_t{1} << 20;

  void set(int workers) { workers_ = workers; }

  /// Returns make(table, nullptr, device->thresholds()) if `device` is given and the codec can use it.
  /// Otherwise returns make(table, threads), where null means the calling thread alone, or make(table).
  template <class Make>
  auto make(Make const& make, tensor_table table, threshold_device_source* device = nullptr) {
    using passes = std::shared_ptr<threshold_device>;
    if constexpr (std::is_invocable_v<Make const&, tensor_table, team*, passes>) {
      static_assert(
          requires { make(table, nullptr, passes()).device_passes(); },
          "cohort: a compressor constructed with device passes needs device_passes(), which returns the "
          "passes that it uses, or null");
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

/// Common part of the strategies that exchange compressed gradients or steps: settings, the compressor's
/// threads, the exchanged elements, running statistics, and the residual and thresholds of a checkpoint.
template <class Make, class Exchange>
class sharing_strategy : public strategy {
 public:
  std::string describe() const override { return text_; }
  agreement const* agreed() const override { return &agreed_; }
  std::vector<measurement> report() const override {
    return exchange_ ? exchange_->report() : std::vector<measurement>();
  }
  exchange_times last_exchange() const override { return exchange_ ? exchange_->last() : exchange_times(); }
  void set_workers(int workers) override { threads_.set(workers); }
  /// The ranks may change (elastic_communicator).
  void set_elastic() { is_elastic_ = true; }

 protected:
  sharing_strategy(std::unique_ptr<communicator> world, sharing_settings const& settings, std::string text,
                   Make make)
      : world_(std::move(world)), settings_(settings), text_(std::move(text)), make_(std::move(make)) {}

  communicator& world() const { return *world_; }
  shared_elements& elements() { return *elements_; }
  Exchange& exchange() { return *exchange_; }
  Exchange const& exchange() const { return *exchange_; }

  /// Creates the compressor of the trained elements.
  ///
  /// Errors    setting_error if no parameter is trained.
  codec_of<Make> make_codec(replica const& mine, threshold_device_source* device = nullptr) {
    elements_.emplace(mine.parameters);
    if (elements_->table().elements() == 0)
      throw setting_error({.what = "there is nothing to share: no parameter is trained",
                           .where = text_,
                           .expected = "at least 1 trained parameter",
                           .got = "0"});
    has_statistics_ = has_statistics(mine.parameters);
    return threads_.make(make_, elements_->table(), device);
  }
  /// Broadcasts rank 0's parameters and state, unless a checkpoint was restored.
  void broadcast_first(replica const& mine) {
    if (!restored_ && world_->size() > 1) broadcast_replica(*world_, mine);
  }

  /// Counts a step in which `examples` examples have updated this rank's running statistics. Averages the
  /// statistics if `sync_buffers` steps have passed.
  void count_statistics(replica const& mine, int examples) {
    if (has_statistics_) statistics_.add_step(examples);
    if (settings_.sync_buffers > 0 && statistics_.steps() >= settings_.sync_buffers)
      statistics_.synchronise(*world_, mine);
  }

  static void read_arrays(replica const& mine, std::span<std::byte* const> dense) {
    for (std::size_t array = 0; array < dense.size(); ++array)
      mine.read(static_cast<int>(array), dense[array]);
  }
  /// Averages the optimizers' state over the ranks.
  void average_optimizer_state(replica const& mine, std::span<std::byte* const> dense,
                               votes const* own = nullptr) {
    auto const elements = static_cast<std::size_t>(mine.parameters.elements());
    for (std::size_t array = 1; array < dense.size(); ++array) {
      mean_over_ranks(*world_, mine.parameters.type(), dense[array], elements, own);
      mine.restore_frozen(static_cast<int>(array), dense[array]);
    }
  }

  /// Adds an array to a checkpoint unless it is empty.
  template <class T>
  static void save_array(strategy_state& to, std::string_view name, element_type type,
                         std::span<T const> values) {
    if (!values.empty()) to.arrays.push_back({name, type, std::as_bytes(values)});
  }
  void save_residual(strategy_state& to) const {
    using f32s = std::span<float const>;
    using f64s = std::span<double const>;
    save_array(to, residual_name, element_type::f32,
               exchange_ ? f32s(exchange_->residual()) : f32s(residual_));
    if constexpr (requires { exchange_->sent_residual(); })
      save_array(to, sent_residual_name, element_type::f32,
                 exchange_ ? f32s(exchange_->sent_residual()) : f32s(sent_residual_));
    save_array(to, thresholds_name, element_type::f64,
               exchange_ ? f64s(exchange_->state()) : f64s(thresholds_));
  }
  void restore_residual(strategy_state::array const& one) {
    if (one.name == residual_name) residual_ = values_of<float>(one);
    if (one.name == sent_residual_name) sent_residual_ = values_of<float>(one);
    if (one.name == thresholds_name) thresholds_ = values_of<double>(one);
  }
  /// Discards the state of an earlier run.
  void reset_run() {
    exchange_.reset();
    residual_ = sent_residual_ = {};
    thresholds_ = {};
    statistics_.reset();
  }

  static constexpr std::string_view residual_name = "residual", sent_residual_name = "sent residual",
                                    thresholds_name = "thresholds";

  std::unique_ptr<communicator> world_;
  sharing_settings settings_;
  std::string text_;
  Make make_;
  codec_threads threads_;
  std::optional<shared_elements> elements_;
  std::unique_ptr<Exchange> exchange_;
  unsynced_statistics statistics_;
  agreement agreed_{};
  bool has_statistics_ = false;
  bool restored_ = false;
  bool is_elastic_ = false;
  std::vector<float> residual_;       // restored from a checkpoint; empty after the first step
  std::vector<float> sent_residual_;  // of an exchange that an error ended (message_exchange::undo)
  std::vector<double> thresholds_;
};

}  // namespace cohort::detail
