// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/dataset.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace cohort::detail {

/// Base of the views of indexed data sets. Derived classes override locate for examples in memory.
struct indexed_view : dataset_interface {
  bool indexed() const override { return true; }
  bool locate(std::span<std::int64_t const>, std::size_t, std::byte const**) const override { return false; }
  std::unique_ptr<stream_cursor> open(int, int, std::int64_t, std::int64_t) const override { return nullptr; }
};

}  // namespace cohort::detail
