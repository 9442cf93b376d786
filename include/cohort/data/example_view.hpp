// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/data/batch.hpp>
#include <cohort/data/description.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace cohort {

/// One example: a pointer to each part, which is either in the data set's memory or in this view's memory.
class example_view {
 public:
  float weight = 1;        ///< set by the data set if it is weighted
  std::string_view key;    ///< set by the data set if it is keyed; valid until the next example is requested
  std::int64_t epoch = 0;  ///< set by the caller: the epoch for which the example is requested

  /// Sets part `part` to the packed elements at `data`.
  ///
  /// Before    the elements remain valid until the next example is requested.
  void point(std::size_t part, void const* data) { parts_[part].data = static_cast<std::byte const*>(data); }
  /// Returns this view's memory for part `part`. The data set writes the part's elements to it.
  ///
  /// Errors    shape_error if T is neither the C++ type of the part's stored elements nor std::byte.
  template <class T = std::byte>
  T* fill(std::size_t part) {
    require_type<T>(part);
    parts_[part].data = parts_[part].memory.data();
    return reinterpret_cast<T*>(parts_[part].memory.data());
  }
  /// Returns the elements of part `part` in this view's memory, to be changed there. Copies them if they are
  /// in the data set's memory.
  ///
  /// Errors    as fill.
  template <class T>
  std::span<T> edit(std::size_t part) {
    require_type<T>(part);
    return {reinterpret_cast<T*>(copied(part)), parts_[part].bytes / sizeof(T)};
  }
  /// Returns the elements of part `part`.
  std::byte const* at(std::size_t part) const { return parts_[part].data; }

  /// Allocates memory for every part of an example.
  void allocate(data_description const& description);

  /// Returns another example of this view's epoch, owned by this view, with memory for every part of
  /// `description`: for data sets that compute an example from those of another data set.
  ///
  /// Parameters  `which`: 0, or 1 for a second example.
  example_view& source(data_description const& description, std::size_t which = 0);

 private:
  struct stored_part {
    std::byte const* data = nullptr;
    std::size_t bytes = 0;
    element_type type = element_type::f32;
    reusable_buffer memory{};
  };

  template <class T>
  void require_type(std::size_t part) const {
    if constexpr (!std::is_same_v<T, std::byte>)
      if (parts_[part].type != element_of<T>) refuse_type(part, element_of<T>);
  }
  [[noreturn]] void refuse_type(std::size_t part, element_type type) const;
  std::byte* copied(std::size_t part);

  std::vector<stored_part> parts_;
  std::array<std::unique_ptr<example_view>, 2> sources_;
};

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/data/impl/example_view.ipp>
#endif
