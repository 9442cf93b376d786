// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/config.hpp>
#include <cohort/trainer/detail/step_in_parts.hpp>
#include <cohort/trainer/training.hpp>
#include <cohort/trainer/training_loop.hpp>

namespace cohort {

COHORT_CORE_INLINE training_loop::training_loop(training& run)
    : now_(std::make_unique<detail::step_in_parts>(run.state())) {}

COHORT_CORE_INLINE training_loop::training_loop(training_loop&&) noexcept = default;
COHORT_CORE_INLINE training_loop& training_loop::operator=(training_loop&&) noexcept = default;
COHORT_CORE_INLINE training_loop::~training_loop() = default;

COHORT_CORE_INLINE void training_loop::forward(batch_view const& data) { now_->forward(data); }
COHORT_CORE_INLINE double training_loop::loss() const { return now_->loss(); }
COHORT_CORE_INLINE void training_loop::backward() { now_->backward(); }
COHORT_CORE_INLINE double training_loop::clip_norm(double max) { return now_->clip_norm(max); }
COHORT_CORE_INLINE step_report training_loop::step() { return now_->step(); }

COHORT_CORE_INLINE std::span<std::byte> training_loop::bytes_of_gradients(element_type type) {
  return now_->gradients(type);
}

COHORT_CORE_INLINE std::span<std::byte> training_loop::bytes_of_gradient(element_type type,
                                                                         std::string_view name) {
  return now_->gradient(type, name);
}

}  // namespace cohort
