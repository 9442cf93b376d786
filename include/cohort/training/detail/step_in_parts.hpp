// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/batch_view.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cohort/tensor/element.hpp>
#include <cohort/training/detail/mean_loss.hpp>
#include <cohort/training/detail/step_runner.hpp>
#include <cohort/training/detail/training_state.hpp>
#include <cohort/training/listener.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace cohort::detail {

/// Implements training_loop, and holds the state of a step between its parts.
class step_in_parts {
 public:
  explicit step_in_parts(training_state& state) : state_(state), runner_(state) {}

  void forward(batch_view data);
  double loss() const { return mean_of_losses(part_loss_, part_.weight); }
  void backward();
  std::span<std::byte> gradients(element_type type);
  std::span<std::byte> gradient(element_type type, std::string_view name);
  double clip_norm(double max);
  step_report step();

 private:
  enum class phase { idle, forwarded, backwarded, exchanged };

  /// Errors    setting_error unless the phase is from `least` to `most`, and nothing else has used the
  ///           workers since forward.
  void require(char const* call, phase least, phase most);
  void exchange(char const* call);
  void write_viewed();

  training_state& state_;
  step_runner runner_;
  phase phase_ = phase::idle;
  std::int64_t job_ = 0;      // worker_group::job of this step
  step_info part_{}, now_{};  // part_: the last forward; now_: all backward calls
  double part_loss_ = 0, loss_ = 0;
  int part_without_weight_ = 0, without_weight_ = 0;  // examples
  step_start begin_{};
  buffer dense_{};        // the gradient in canonical order
  bool viewed_ = false;   // whether dense_ holds the step's gradient
  bool changed_ = false;  // whether the caller may have changed the gradient
};

}  // namespace cohort::detail
