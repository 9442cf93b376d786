// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cohort/data/cache.hpp>
#include <cohort/data/detail/indexed_view.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/detail/scratch_memory.hpp>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace cohort::detail {

/// Examples of a data set, each copied to the next free slot when it is first requested.
class cached_examples final : public indexed_view {
 public:
  /// `slots`: the number of examples that are kept.
  cached_examples(dataset data, std::size_t slots, std::string const& folder)
      : data_(std::move(data)),
        example_bytes_(bytes_of_example(data_.describe())),
        memory_(folder, slots * example_bytes_),
        slots_(slots),
        slot_of_(static_cast<std::size_t>(data_.size())),
        weights_(data_.describe().weighted ? slots : 0),
        keys_(data_.describe().keyed ? slots : 0) {
    for (auto& slot : slot_of_) slot.store(none, std::memory_order_relaxed);
  }

  /// Returns the bytes of all tensors of an example.
  static std::size_t bytes_of_example(data_description const& what) {
    std::size_t bytes = 0;
    for (std::size_t part = 0; part < what.parts(); ++part) bytes += stored_bytes(what.part(part));
    return bytes;
  }

  data_description const& describe() const override { return data_.describe(); }
  std::int64_t size() const override { return data_.size(); }
  void get(std::int64_t i, example_view& out) const override {
    std::int64_t slot = slot_of_[static_cast<std::size_t>(i)].load(std::memory_order_acquire);
    if (slot == none) slot = read(i, out);
    if (slot == none) return;
    std::byte const* from = address(slot);
    for (std::size_t part = 0; part < describe().parts(); ++part) {
      out.point(part, from);
      from += stored_bytes(describe().part(part));
    }
    if (!weights_.empty()) out.weight = weights_[static_cast<std::size_t>(slot)];
    if (!keys_.empty()) out.key = keys_[static_cast<std::size_t>(slot)];
  }
  std::optional<std::int64_t> label(std::int64_t i) const override { return data_.label(i); }
  std::optional<int> length(std::int64_t i) const override { return data_.length(i); }

 private:
  static constexpr std::int64_t none = -1;

  static std::size_t stored_bytes(tensor_description const& part) {
    std::size_t const bytes = static_cast<std::size_t>(part.example.elements()) * bytes_of(part.stored);
    return (bytes + 7) / 8 * 8;  // so that every part is aligned
  }
  std::byte* address(std::int64_t slot) const {
    return memory_.data() + static_cast<std::size_t>(slot) * example_bytes_;
  }

  /// Sets `out` to example i and copies it, unless no slot is free. Returns the slot, or none. Several
  /// threads may read the same example; the first copy is kept.
  std::int64_t read(std::int64_t i, example_view& out) const {
    std::int64_t const epoch = std::exchange(out.epoch, 0);
    try {
      data_.model().get(i, out);
    } catch (...) {
      out.epoch = epoch;
      throw;
    }
    out.epoch = epoch;
    std::lock_guard const lock(mutex_);
    auto& slot = slot_of_[static_cast<std::size_t>(i)];
    if (std::int64_t const found = slot.load(std::memory_order_relaxed); found != none) return found;
    if (used_ == slots_) return none;
    auto const made = static_cast<std::int64_t>(used_);
    std::byte* to = address(made);
    for (std::size_t part = 0; part < describe().parts(); ++part) {
      tensor_description const& what = describe().part(part);
      std::memcpy(to, out.at(part),
                  static_cast<std::size_t>(what.example.elements()) * bytes_of(what.stored));
      to += stored_bytes(what);
    }
    if (!weights_.empty()) weights_[used_] = out.weight;
    if (!keys_.empty()) keys_[used_] = out.key;
    ++used_;
    slot.store(made, std::memory_order_release);
    return made;
  }

  dataset data_;
  std::size_t example_bytes_;
  scratch_memory memory_;
  std::size_t slots_;
  mutable std::vector<std::atomic<std::int64_t>> slot_of_;  // slot of each example; −1: none
  mutable std::mutex mutex_;                                // guards writes to the members below
  mutable std::size_t used_ = 0;
  mutable std::vector<float> weights_;  // weight of the example in each slot
  mutable std::vector<std::string> keys_;
};

}  // namespace cohort::detail

namespace cohort {

dataset cache(dataset const& data, cache_settings const& settings) {
  data.require_random_access("cache");
  if (data.model().in_memory() || data.size() == 0) return data;
  std::size_t const each = detail::cached_examples::bytes_of_example(data.describe());
  std::size_t const slots = std::min(static_cast<std::size_t>(data.size()), settings.max_bytes / each);
  auto const refuse = [&](std::string expected, std::size_t got) {
    throw memory_error({.what = "the data set cannot be cached",
                        .where = "cache",
                        .expected = std::move(expected),
                        .got = {got, " bytes"}});
  };
  if (slots == 0)
    refuse(detail::text_of({"max_bytes of at least ", each, " bytes, for one example"}), settings.max_bytes);
  try {
    return dataset(std::make_shared<detail::cached_examples const>(data, slots, settings.folder));
  } catch (std::bad_alloc const&) {
    refuse("no more than the available memory", slots * each);
  }
  return data;
}

}  // namespace cohort
