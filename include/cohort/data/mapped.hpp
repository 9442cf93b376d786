// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/dataset.hpp>
#include <cstdint>
#include <functional>

namespace cohort {

/// Changes an example in place: `one` is example i of the data set, and one.epoch its epoch.
///
///     [](std::int64_t, example_view& one) { for (float& x : one.edit<float>(0)) x = std::log1p(x); }
using example_editor = std::function<void(std::int64_t i, example_view& one)>;

/// Computes example i from example i of another data set: sets every part of `to` by point or fill. The
/// elements of `from` remain valid until the next example is requested, so `to` may point to them. Weight and
/// key are copied before the call.
using example_mapper = std::function<void(std::int64_t i, example_view const& from, example_view& to)>;

/// Returns a data set whose examples are changed by `edit` when they are requested. Works for streams, too: i
/// is then the example's position among the examples of all shards.
///
/// Before    `edit` is safe to call from several threads, and gives the same result for the same i and epoch.
/// Errors    the exceptions of `edit` are thrown by the loader.
dataset mapped(dataset const& data, example_editor edit);

/// Returns a data set with another description, whose examples are computed by `compute`.
///
/// Before    `compute` satisfies the conditions of `edit`. `description` has weights or keys only if `data`
///           has them, or `compute` sets them.
/// Errors    data_error that names the tensor if `compute` does not set a part.
dataset mapped(dataset const& data, data_description description, example_mapper compute);

}  // namespace cohort
