// SPDX-License-Identifier: Apache-2.0
#include <cohort/training/detail/step_in_parts.hpp>
#include <cohort/training/training.hpp>
#include <cohort/training/training_loop.hpp>

namespace cohort {

training_loop::training_loop(training& run) : now_(std::make_unique<detail::step_in_parts>(run.state())) {}

training_loop::training_loop(training_loop&&) noexcept = default;
training_loop& training_loop::operator=(training_loop&&) noexcept = default;
training_loop::~training_loop() = default;

void training_loop::forward(batch_view const& data) { now_->forward(data); }
double training_loop::loss() const { return now_->loss(); }
void training_loop::backward() { now_->backward(); }
double training_loop::clip_norm(double max) { return now_->clip_norm(max); }
step_report training_loop::step() { return now_->step(); }

std::span<std::byte> training_loop::bytes_of_gradients(element_type type) { return now_->gradients(type); }

std::span<std::byte> training_loop::bytes_of_gradient(element_type type, std::string_view name) {
  return now_->gradient(type, name);
}

}  // namespace cohort
