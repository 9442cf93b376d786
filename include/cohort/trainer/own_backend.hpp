// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/trainer/detail/backend_handle.hpp>
#include <cohort/trainer/impl/backend_handle.tpp>

/// Include this header to train on a tensor backend of your own with the compiled library, which contains the plans of the
/// shipped backends only. Header-only programs have it already.

namespace cohort::detail {

// Complete where the templates that make plans for a backend are visible.
template <class B>
struct plan_templates {};

}  // namespace cohort::detail
