// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/tensor/element.hpp>
#include <cohort/tensor/shape.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cohort {

/// Conversion of one channel's elements: element · scale + offset.
struct channel_scaling {
  double scale = 1;
  double offset = 0;
  bool operator==(channel_scaling const&) const = default;

  /// Returns the map that maps `zero` to 0 and `zero` + `unit` to 1.
  static channel_scaling from(double zero, double unit);
  /// Returns the map that applies this map, and then `next`.
  channel_scaling then(channel_scaling const& next) const;
};

/// The features of a part that a normalisation rescales, each by a separate map.
///
/// channels  the channels of an image C×H×W or a sequence T×C (channel_axis), or the columns of a row.
/// none      the elements are indices, for an embedding: never rescaled.
enum class feature_axis : std::uint8_t { channels, none };

/// Description of one tensor of every example: in the data set and in the batch.
///
/// Shapes    `example` excludes the batch dimension; a class label is a scalar, or has one extent: one label
///           per step. `channels`: one map per channel or per element, or none.
/// Units     element in the batch = stored element · scale + offset, converted from `stored` to `type`. Then
///           the scaling of the element's channel is applied. `mask`: index of the mask of the part's steps;
///           the values of padding elements are unspecified.
struct tensor_description {
  std::string name = "input";
  shape example{};
  element_type stored = element_type::f32;  ///< in the data set
  element_type type = element_type::f32;    ///< in the batch
  double scale = 1;
  double offset = 0;
  std::vector<channel_scaling> channels = {};
  int classes = 0;                            ///< class labels are 0 … classes − 1; 0: not a class label
  int smallest_class = 0;                     ///< smallest label that occurs, if it is known
  std::vector<std::string> label_names = {};  ///< one per class of a label or distribution, or empty
  feature_axis features = feature_axis::channels;
  int mask = -1;  ///< index of a mask; −1: no step is padding
  /// For a part made of table columns: one name per element of a row. If the part is an index: one name per
  /// value of the index. Otherwise empty.
  std::vector<std::string> feature_names = {};
  std::optional<std::uint64_t> pipeline = {};  ///< data_table::pipeline, for a part made of rows of a table

  /// Returns whether `maps` maps can rescale the part: one map per channel (1 for a scalar), or one per
  /// element. The part's elements in the batch must be f32 or f64, and not indices.
  bool accepts(std::size_t maps) const;
  /// Applies maps to the elements in the batch, after their current scaling.
  ///
  /// Before    accepts(maps.size()).
  void rescale(std::span<channel_scaling const> maps);

  /// Returns whether scaling or an offset changes the elements.
  bool rescaled() const { return scale != 1 || offset != 0 || !channels.empty(); }
};

namespace detail {

/// Returns one map for each block of an example in memory; all blocks have the same length. For the channels
/// of a sequence, `maps` is repeated for each step; otherwise it is returned unchanged.
std::vector<channel_scaling> maps_in_memory(shape const& example, std::span<channel_scaling const> maps);

/// Describes a part for messages: "one class index per example, i32", "10 numbers per example, f32".
std::string text_of_part(shape const& example, element_type type);

}  // namespace detail

/// Description of a data set's examples.
///
/// Order     parts are counted in this order: inputs, then targets, then masks.
struct data_description {
  std::vector<tensor_description> inputs{};
  std::vector<tensor_description> targets{};
  std::vector<tensor_description> masks{};
  bool weighted = false;  ///< examples have a weight: a finite number of at least 0
  bool keyed = false;     ///< examples have a key

  /// Returns the number of parts.
  std::size_t parts() const;
  /// Returns the description of part `which`.
  tensor_description const& part(std::size_t which) const;
};

}  // namespace cohort
