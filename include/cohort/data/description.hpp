// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/tensor/element.hpp>
#include <cohort/tensor/shape.hpp>
#include <string>
#include <vector>

namespace cohort {

/// One tensor of every example, as the data set stores it and as it arrives in the batch.
///
/// Shapes    `example` is without the batch; a class label is a scalar.
/// Units     where `stored` and `type` differ, or scale and offset say so: batch = stored · scale + offset.
struct tensor_description {
  std::string name = "input";
  shape example{};
  element_type stored = element_type::f32;
  element_type type = element_type::f32;
  double scale = 1;
  double offset = 0;
  int classes = 0;                            ///< labels are 0 … classes − 1; 0: no labels
  std::vector<std::string> label_names = {};  ///< one a class, or none

  bool rescaled() const { return scale != 1 || offset != 0; }
};

/// What every example of a data set consists of.
///
/// Order     parts are numbered inputs first, then targets, then masks.
struct data_description {
  std::vector<tensor_description> inputs;
  std::vector<tensor_description> targets;
  std::vector<tensor_description> masks;
  bool weighted = false;  ///< examples carry a weight
  bool keyed = false;     ///< examples carry a key

  std::size_t parts() const;
  tensor_description const& part(std::size_t which) const;
};

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/data/impl/description.ipp>
#endif
