// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/tensor/element.hpp>
#include <cohort/tensor/shape.hpp>
#include <string>
#include <vector>

namespace cohort {

/// Conversion of one channel's elements: element · scale + offset.
struct channel_scaling {
  double scale = 1;
  double offset = 0;
  bool operator==(channel_scaling const&) const = default;
};

/// Description of one tensor of every example: in the data set and in the batch.
///
/// Shapes    `example` excludes the batch dimension; a class label is a scalar. `channels`: one per index of
///           the first axis, or empty.
/// Units     element in the batch = stored element · scale + offset, converted from `stored` to `type`. The
///           scaling of the element's channel is applied after that.
struct tensor_description {
  std::string name = "input";
  shape example{};
  element_type stored = element_type::f32;  ///< in the data set
  element_type type = element_type::f32;    ///< in the batch
  double scale = 1;
  double offset = 0;
  std::vector<channel_scaling> channels = {};
  int classes = 0;                            ///< class labels are 0 … classes − 1; 0: not a class label
  std::vector<std::string> label_names = {};  ///< one per class, or empty

  /// Returns whether scaling or an offset changes the elements.
  bool rescaled() const { return scale != 1 || offset != 0 || !channels.empty(); }
};

/// Description of a data set's examples.
///
/// Order     part numbers: inputs first, then targets, then masks.
struct data_description {
  std::vector<tensor_description> inputs;
  std::vector<tensor_description> targets;
  std::vector<tensor_description> masks;
  bool weighted = false;  ///< examples have a weight
  bool keyed = false;     ///< examples have a key

  /// Returns the number of parts.
  std::size_t parts() const;
  /// Returns the description of part `which`.
  tensor_description const& part(std::size_t which) const;
};

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/data/impl/description.ipp>
#endif
