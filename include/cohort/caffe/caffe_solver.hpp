// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/caffe/caffe_model.hpp>
#include <cohort/caffe/prototxt.hpp>
#include <cohort/optimizer/optimizer.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cohort {

/// A solver of Caffe: networks, optimizer and schedule of a training.
///
///     caffe_solver const solver = caffe_solver::read("lenet_solver.prototxt");
///     caffe_model const net = import_caffe(solver.train_net, "", {.state = solver.train_state});
///     training_settings const settings{.optimizer = solver.optimizer(net)};
///
/// Units     iterations are steps, each of iter_size batches of every rank. `tests`: one or more, in Caffe's
///           order: test_net_param, test_net, then the network of the training. `snapshot`: steps between two
///           snapshots; 0: only at the end. `seed`: unset for the clock.
/// Errors    read and from: file_error; data_error with file, line and field for a field that Caffe's
///           SolverParameter does not have, a value out of range, and a setting that has no counterpart.
/// Exact     the steps of Caffe's solvers up to rounding: the velocity contains the rate, `clip_gradients`
///           limits the sum of the iter_size gradients, and weight decay follows it and includes biases.
/// Source    github.com/BVLC/caffe, src/caffe/proto/caffe.proto and src/caffe/solvers.
struct caffe_solver {
  /// A network in the phase TEST, and the batches of one test; 0: no test, and `net` is empty.
  struct test {
    prototxt_message net{};
    caffe_state state{};
    int iterations = 0;
  };

  prototxt_message message{};  ///< the whole solver
  prototxt_message train_net{};
  caffe_state train_state{.phase = caffe_state::phases::train};
  std::vector<test> tests{};
  std::int64_t max_iter = 0;
  int iter_size = 1;
  std::int64_t test_interval = 0;
  bool test_initialization = true;
  std::int64_t snapshot = 0;
  bool snapshot_after_train = true;
  std::string snapshot_prefix{};  ///< as in Caffe: by default the solver's path without extension
  bool uses_gpu = true;           ///< solver_mode
  std::optional<std::uint64_t> seed{};
  std::vector<std::string> weights{};  ///< caffemodel files that contain the initial parameters
  std::vector<std::string> notices{};  ///< one sentence for each field that has no effect here

  /// Reads a solver and its networks. A network is searched at its path, and then by its file name in the
  /// folder of the solver.
  static caffe_solver read(std::string const& path);
  /// The same for a message that was read before, for example to change fields.
  static caffe_solver from(prototxt_message message);

  /// Returns the optimizer for parameters whose factors lr_mult and decay_mult are 1.
  ///
  /// Errors    setting_error for an invalid number.
  optimizer_settings optimizer() const;
  /// The same with an override for each layer of a network whose factors are not all 1. A layer whose rates
  /// are 0 is frozen, except a batch normalisation, which still computes statistics of the batch.
  optimizer_settings optimizer(caffe_model const& net) const;
};

}  // namespace cohort
