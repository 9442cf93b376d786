// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/interchange/imported_model.hpp>
#include <cstddef>
#include <vector>

namespace cohort {

/// Settings of import_deeplearning4j.
///
/// Units     `steps`: length of sequences; 0: the file's tbpttFwdLength, if the file trains by truncated
///           backpropagation. `inputs`: extents of inputs that the file does not define. `training`: false
///           imports the network for predictions only, without losses, optimizers and layers that act in
///           training only. `optimizer`: false ignores updaters, penalties and gradient normalisation.
///           `state`: false ignores updaterState.bin. `batch`: examples of an update, for files with
///           miniBatch(false), whose gradients are sums over the batch: the factor of the losses; 0: the
///           losses remain means. `max_bytes`: largest size of the file, and of each decompressed entry.
struct deeplearning4j_settings {
  int steps = 0;
  std::vector<input_extents> inputs{};
  bool training = true;
  bool optimizer = true;
  bool state = true;
  int batch = 0;
  std::size_t max_bytes = std::size_t{8} << 30;
};

}  // namespace cohort
