// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/dataset.hpp>
#include <string_view>
#include <vector>

namespace cohort::detail {

/// Checks that data sets can be joined: all of them have random access and equal descriptions.
///
/// Parameters  `user`: the name of the calling function, for the messages.
/// Errors      setting_error if there are no parts, or for a stream. shape_error that names the tensor if its
///             shape, element types, scale, offset or mask differ from those in the first part. data_error if
///             the parts differ in the numbers or names of tensors, in normalisation, classes or label names,
///             or in the presence of weights or keys.
void require_same_examples(std::vector<dataset> const& parts, std::string_view user);

}  // namespace cohort::detail
