// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/checkpoint/model_content.hpp>
#include <cohort/checkpoint/safetensors.hpp>
#include <cohort/graph/graph_json.hpp>
#include <cohort/io/byte_stream.hpp>
#include <cohort/optimizer/optimizer.hpp>
#include <cohort/plan/parameter_set.hpp>
#include <cohort/plan/parameter_update.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

namespace detail {

/// A dense tensor of f32 or f64 and its destination: parameter `p` of an arena.
struct tensor_to_load {
  tensor_view from;
  int p;
  std::byte* arena;
};

/// Writes dense tensors into their arenas, converted to the parameters' type and layouts. `source`: the name
/// of the tensors' file, for errors.
///
/// After     all memory is allocated before the first value is written.
/// Errors    data_error if a running variance is not a number of at least 0; nothing is written.
void write_dense(parameter_set const& layouts, std::span<tensor_to_load const> all, std::string_view source);

}  // namespace detail

/// A saved model in memory. Returns its network, and fills parameters and optimizer state.
///
///     model_file const saved = model_file::open("lenet.safetensors");
///     graph const net = saved.network();
///     saved.read_parameters(net, *parameters);
///
/// Before    the file is untrusted: see safetensors and from_json.
/// Errors    file_error if the file cannot be read.
///           data_error naming the file and the defect: damage (detected by a hash of the content), another
///           network, a tensor that is missing, unexpected or of another shape, or a negative running
///           variance.
///           All checks precede the first write. If a later read on demand fails, the values are unspecified.
/// Exact     values of the same type keep their bits; f64 is rounded to the nearest f32; f32 to f64 is exact.
class model_file {
 public:
  /// Reads a model from a file.
  static model_file open(std::string const& path, safetensors_limits limits = {});
  /// Reads a model from a file, but keeps only a strategy's state in memory. Reads each other tensor, to
  /// check the hash, and again when it is used; `file()` has no data of these tensors. One thread at a
  /// time may use the result.
  ///
  /// Errors    every later read throws data_error if the file was written to since it was opened. A file that
  ///           was renamed, removed or replaced is read on.
  static model_file open_on_demand(std::string const& path);
  /// Reads a model from a stream.
  static model_file read(io::byte_stream_ref in, std::string const& name = "stream",
                         safetensors_limits limits = {});

  /// The file itself, with the tensors ("strategy/…") and texts of a strategy.
  safetensors const& file() const& { return file_; }
  safetensors const& file() const&& = delete;  // keep the file in a variable

  /// Builds the saved network. `UserLayers` are layer kinds in addition to the built-in ones.
  template <layer... UserLayers>
  graph network() const {
    graph made = from_json<UserLayers...>(metadata("graph"), file_.name() + " graph");
    if (std::string const hash = detail::hash_text(made.hash()); hash != metadata("graph_hash"))
      refuse_metadata("graph_hash", "the graph's hash " + hash);
    return made;
  }

  /// Optimiser settings of the saved run; nullopt if the optimizers' state was not saved.
  std::optional<optimizer_settings> const& optimizer() const& { return optimizer_; }
  std::optional<optimizer_settings> const& optimizer() const&& = delete;  // keep the file in a variable
  /// Training position of the saved run; all 0 if the optimizers' state was not saved.
  training_position position() const { return position_; }
  /// Loss history of reduce_on_plateau.
  cohort::plateau const& plateau() const& { return plateau_; }
  cohort::plateau const& plateau() const&& = delete;  // keep the file in a variable
  /// Returns whether the file has parameters. A rank's file in a checkpoint may have none.
  bool has_parameters() const;

  /// Throws data_error unless the file belongs to this network. The error names the difference.
  void check_network(graph_view net, parameter_set const& parameters) const;

  /// Fills the parameters of the saved network. Without `net`, fills those of any network with the same
  /// parameter names and shapes.
  void read_parameters(graph_view net, parameter_set& into) const;
  void read_parameters(parameter_set& into) const;
  /// The same, but trained parameters are those that the saved run predicted with: their moving average, if
  /// the file has one.
  void read_averaged_parameters(graph_view net, parameter_set& into) const;

  /// Reads the optimizers' state into `arrays`, arenas with the layouts of `parameters`, and the moving
  /// average of the parameters into `average`, unless it is null. Returns the saved training position. The
  /// optimizers' rates and fields may differ from the saved ones.
  ///
  /// Errors    setting_error if there are too few arrays; data_error also if the optimizers differ, or the
  ///           file has no state or no average.
  training_position read_state(parameter_set const& parameters, optimizer_settings const& settings,
                               std::span<std::byte* const> arrays, std::byte* average = nullptr) const;
  /// Reads the optimizers' state of `update` and, if it has an average, the average. Sharded state needs
  /// memory for one parameter at a time.
  training_position read_state(parameter_set const& parameters, parameter_update& update) const;
  /// Throws the data_error of read_state.
  void check_state(parameter_set const& parameters, parameter_update const& update) const;

 private:
  struct difference {
    std::string name, expected, got;
  };

  explicit model_file(safetensors file);

  std::string const& metadata(std::string const& key) const;
  [[noreturn]] void refuse_metadata(std::string const& key, std::string expected) const;
  std::int64_t count(std::string const& key) const;

  static bool is_real(element_type type) { return type == element_type::f32 || type == element_type::f64; }

  /// Returns whether the file has a moving average of the parameters.
  bool has_average() const;
  /// Returns whether a tensor is neither optimizer state nor a strategy's state.
  static bool is_parameter(stored_tensor const& one);

  /// Returns the first mismatch between the file and `list`. With `reject_extra`, a parameter of the file
  /// that is not in `list` is a mismatch too.
  std::optional<difference> first_difference(parameter_set const& parameters,
                                             std::vector<detail::model_tensor> const& list,
                                             bool reject_extra) const;

  /// Returns the tensors of the optimizers' state, after the checks of read_state.
  std::vector<detail::model_tensor> checked_state(parameter_set const& parameters,
                                                  optimizer_settings const& settings,
                                                  std::span<std::byte* const> arrays,
                                                  std::byte* average) const;

  /// Throws data_error if a tensor is missing or has another shape.
  void check_tensors(parameter_set const& layouts, std::vector<detail::model_tensor> const& list,
                     bool reject_extra) const;

  [[noreturn]] void refuse_network(std::string const& tensor, std::string expected, std::string got) const;

  void read_all(parameter_set const& layouts, std::vector<detail::model_tensor> const& list,
                bool reject_extra) const;

  /// Reads a tensor; the result is valid until the next call.
  tensor_view values(stored_tensor const& tensor) const { return file_.read(tensor, memory_); }
  tensor_view values(std::string_view tensor) const;

  safetensors file_;
  mutable reusable_buffer memory_{};  // a tensor read on demand
  std::optional<optimizer_settings> optimizer_;
  training_position position_;
  cohort::plateau plateau_;
};

}  // namespace cohort
