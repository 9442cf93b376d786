// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cohort/data/cache.hpp>
#include <cohort/data/detail/indexed_view.hpp>
#include <cohort/detail/config.hpp>
#include <cohort/error/exceptions.hpp>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace cohort::detail {

/// A data set's examples in memory, each copied when it is first requested.
class cached_examples final : public indexed_view {
 public:
  explicit cached_examples(dataset data)
      : data_(std::move(data)), present_(new std::atomic<bool>[static_cast<std::size_t>(data_.size())]()) {
    data_description const& what = data_.describe();
    auto const count = static_cast<std::size_t>(data_.size());
    for (std::size_t part = 0; part < what.parts(); ++part) {
      example_bytes_.push_back(stored_bytes(what.part(part)));
      memory_.emplace_back(new std::byte[count * example_bytes_[part]]);
    }
    weights_.resize(what.weighted ? count : 0);
    keys_.resize(what.keyed ? count : 0);
  }

  static std::size_t stored_bytes(tensor_description const& part) {
    return static_cast<std::size_t>(part.example.elements()) * bytes_of(part.stored);
  }

  data_description const& describe() const override { return data_.describe(); }
  std::int64_t size() const override { return data_.size(); }
  void get(std::int64_t i, example_view& out) const override {
    auto const at = static_cast<std::size_t>(i);
    if (!present_[at].load(std::memory_order_acquire)) read(at, out);
    for (std::size_t part = 0; part < memory_.size(); ++part) out.point(part, address(part, at));
    if (!weights_.empty()) out.weight = weights_[at];
    if (!keys_.empty()) out.key = keys_[at];
  }
  std::optional<std::int64_t> label(std::int64_t i) const override { return data_.label(i); }
  std::optional<int> length(std::int64_t i) const override { return data_.length(i); }

 private:
  std::byte* address(std::size_t part, std::size_t i) const {
    return memory_[part].get() + i * example_bytes_[part];
  }

  /// Threads may read the same example at the same time; the first copy is kept.
  void read(std::size_t i, example_view& out) const {
    std::int64_t const epoch = std::exchange(out.epoch, 0);
    try {
      data_.model().get(static_cast<std::int64_t>(i), out);
    } catch (...) {
      out.epoch = epoch;
      throw;
    }
    out.epoch = epoch;
    std::lock_guard const lock(mutex_);
    if (present_[i].load(std::memory_order_relaxed)) return;
    for (std::size_t part = 0; part < memory_.size(); ++part)
      std::memcpy(address(part, i), out.at(part), example_bytes_[part]);
    if (!weights_.empty()) weights_[i] = out.weight;
    if (!keys_.empty()) keys_[i] = out.key;
    present_[i].store(true, std::memory_order_release);
  }

  dataset data_;
  std::vector<std::size_t> example_bytes_;
  std::vector<std::unique_ptr<std::byte[]>> memory_;  // not initialised, so that unused pages need no memory
  std::unique_ptr<std::atomic<bool>[]> present_;
  mutable std::vector<float> weights_;
  mutable std::vector<std::string> keys_;
  mutable std::mutex mutex_;
};

}  // namespace cohort::detail

namespace cohort {

COHORT_CORE_INLINE dataset cache(dataset const& data, cache_settings const& settings) {
  data.require_random_access("cache");
  if (data.model().in_memory()) return data;
  std::size_t bytes = 0;
  for (std::size_t part = 0; part < data.describe().parts(); ++part)
    bytes += detail::cached_examples::stored_bytes(data.describe().part(part));
  bytes *= static_cast<std::size_t>(data.size());
  auto const refuse = [&](std::string expected) {
    throw memory_error({.what = "the data set is too large to be cached",
                        .where = "cache",
                        .expected = std::move(expected),
                        .got = {bytes, " bytes for ", data.size(), " examples"}});
  };
  if (bytes > settings.max_bytes)
    refuse(detail::text_of({"at most ", settings.max_bytes, " bytes (max_bytes)"}));
  try {
    return dataset(std::make_shared<detail::cached_examples const>(data));
  } catch (std::bad_alloc const&) {
    refuse("no more than the available memory");
  }
  return data;
}

}  // namespace cohort
