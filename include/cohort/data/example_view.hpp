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

namespace detail {
struct example_parts;
}  // namespace detail

/// One example: a pointer to each part, which is either in the data set's memory or in this view's memory.
class example_view {
 public:
  float weight = 1;        ///< set by the data set if it is weighted; otherwise 1
  std::string_view key;    ///< set by the data set if it is keyed; valid until the next example is requested
  std::int64_t epoch = 0;  ///< set by the caller: the epoch for which the example is requested

  /// Makes part `part` refer to the packed elements at `data`, without a copy.
  ///
  /// Before    the elements remain valid until the next example is requested.
  /// Errors    shape_error for a part that the data set does not have.
  void point(std::size_t part, void const* data) {
    at_index(part).data = static_cast<std::byte const*>(data);
  }
  /// Returns this view's memory for part `part`. The data set writes the part's elements to it.
  ///
  /// Errors    as point; shape_error if T is neither the C++ type of the stored elements nor std::byte.
  template <class T = std::byte>
  T* fill(std::size_t part) {
    require_type<T>(part);
    parts_[part].data = parts_[part].memory.data();
    return reinterpret_cast<T*>(parts_[part].memory.data());
  }
  /// Returns the elements of part `part` in this view's memory, where they may be changed. Copies them if
  /// they are in the data set's memory.
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

  /// Returns another view, owned by this view, of the same epoch and with memory for every part of
  /// `description`. Used by data sets that compute an example from examples of another data set.
  ///
  /// Parameters  `which`: 0, or 1 for a second example.
  example_view& source(data_description const& description, std::size_t which = 0);

 private:
  friend struct detail::example_parts;

  struct stored_part {
    std::byte const* data = nullptr;
    std::size_t bytes = 0;
    element_type type = element_type::f32;
    reusable_buffer memory{};
  };

  stored_part& at_index(std::size_t part) {
    if (part >= parts_.size()) refuse_part(part);
    return parts_[part];
  }
  template <class T>
  void require_type(std::size_t part) {
    stored_part const& one = at_index(part);
    if constexpr (!std::is_same_v<T, std::byte>)
      if (one.type != element_of<T>) refuse_type(part, element_of<T>);
  }
  [[noreturn]] void refuse_part(std::size_t part) const;
  [[noreturn]] void refuse_type(std::size_t part, element_type type) const;
  std::byte* copied(std::size_t part);

  std::vector<stored_part> parts_;
  std::array<std::unique_ptr<example_view>, 2> sources_;
};

namespace detail {

/// Checks that a data set sets every part of an example: call reset before the request, require_all after it.
struct example_parts {
  static void reset(example_view& out) {
    for (auto& one : out.parts_) one.data = nullptr;
    out.weight = 1;
    out.key = {};
  }
  /// Checks that every part is set. `of`: text after the example's index in the message: " of the shard".
  ///
  /// Errors    data_error that names the part and the example.
  static void require_all(example_view const& out, data_description const& description, std::int64_t example,
                          char const* of = "") {
    for (std::size_t part = 0; part < out.parts_.size(); ++part)
      if (!out.parts_[part].data) refuse(description, part, example, of);
  }

 private:
  [[noreturn]] static void refuse(data_description const& description, std::size_t part, std::int64_t example,
                                  char const* of);
};

/// Sets `out` to example i of a data set of a user's type.
template <class D>
void get_example(D const& data, std::int64_t i, example_view& out) {
  example_parts::reset(out);
  data.get(i, out);
  example_parts::require_all(out, data.describe(), i);
}

}  // namespace detail

}  // namespace cohort
