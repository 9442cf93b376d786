// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/checkpoint/safetensors_format.hpp>
#include <cohort/checkpoint/training_position.hpp>
#include <cohort/io/byte_sink.hpp>
#include <cohort/optimizer/optimizer.hpp>
#include <cohort/optimizer/plateau.hpp>
#include <cohort/plan/parameter_set.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort {

class communicator;

/// Non-owning view of the optimizers' state.
///
/// Shapes    array k is an arena with the size and layouts of the master parameters. The arena contains state
///           array k of each parameter whose optimizer (by layer and role) has more than k state arrays.
struct optimizer_state_view {
  optimizer_settings settings{};
  training_position position{};
  std::span<std::byte* const> arrays{};
  cohort::plateau plateau{};     ///< loss history of reduce_on_plateau
  std::byte* average = nullptr;  ///< arena with the moving average of the trained parameters; null: none
};

namespace detail {

inline constexpr std::string_view model_format = "cohort model";
inline constexpr std::string_view model_format_version = "3";
inline constexpr std::string_view state_prefix = "state/";
inline constexpr std::string_view average_prefix = "state/average/";
inline constexpr std::string_view strategy_prefix = "strategy/";

/// Name of a tensor in a model file and the location of its values in this process: parameter `p` of an
/// arena. `array`: the number of the state array; −1 for parameters and their average.
struct model_tensor {
  std::string name;
  int p;
  std::byte* arena;
  int array = -1;
};

/// Reads the tensors of a model that are not in this rank's parameters. `read` copies a tensor to dense
/// elements; returns false, without elements, on a rank that only sends its part. `is_deferred`: the tensors
/// are read when the model is written, not when they are added. `is_collective`: read exchanges data with
/// other ranks.
struct tensor_source {
  std::function<bool(model_tensor const&, std::byte* dense)> read{};
  bool is_deferred = false;
  bool is_collective = false;
};

/// Lists the parameters as tensors of a model file.
std::vector<model_tensor> parameter_tensors(parameter_set const& parameters);

/// Lists the optimizers' state, and the average unless it is null, as tensors of a model file.
///
/// Errors    setting_error if `arrays` has fewer arrays than an optimizer needs.
std::vector<model_tensor> state_tensors(parameter_set const& parameters, optimizer_settings const& settings,
                                        std::span<std::byte* const> arrays, std::byte* average);

/// Returns the hash of the metadata except "content_hash", and of names and bytes of the tensors. The hash
/// does not depend on tensor order, on the spelling of the header, or on types and shapes. If `read` is set,
/// it returns a tensor's elements; otherwise the views have them.
std::uint64_t content_hash(std::span<stored_tensor const> tensors, safetensors_metadata const& metadata,
                           tensor_reader const& read = {});

}  // namespace detail

/// Content of a model file: a network and, if added, its parameters, its optimizers' state and a strategy's
/// state.
///
/// Shapes    tensors are dense, in canonical layout and of the parameters' type: "conv2d_1.weights",
///           "state/mean/conv2d_1.weights".
/// Before    `net` outlives the last call of add_parameters or add_state.
/// After     parameters and state are copied, unless they are deferred: training may continue.
/// Errors    shape_error if the parameters belong to another network; setting_error if state arrays are
///           missing or a strategy's name does not begin with "strategy/".
/// Exact     equal models give equal content on every backend.
class model_content {
 public:
  explicit model_content(graph_view net, detail::tensor_source source = {});
  /// The same with the result of network_metadata(net), which may be reused.
  model_content(graph_view net, detail::tensor_source source, safetensors_metadata network);
  /// Metadata of all models of a network, which contain the network.
  static safetensors_metadata network_metadata(graph_view net);
  // Move-only, because the tensors of a copy would point into the original's memory.
  model_content(model_content&&) = default;
  model_content& operator=(model_content&&) = default;

  /// Adds copies of the parameters.
  model_content& add_parameters(parameter_set const& parameters);

  /// Adds copies of the optimizers' state, with the optimizers' settings and the training position.
  model_content& add_state(parameter_set const& parameters, optimizer_state_view const& state);

  /// Adds a tensor of a strategy, "strategy/…". The tensor is not copied, so its memory must stay valid
  /// until the content is written. Readers of the model ignore it.
  model_content& add(std::string name, tensor_view tensor);
  /// Adds a text of a strategy ("strategy/…"), of a listener ("listener/…") or about the data ("data/…").
  model_content& add_metadata(std::string key, std::string text);

  /// Returns whether parameters and state are read when the model is written.
  bool is_deferred() const { return source_.is_deferred; }
  /// Returns whether all ranks write the model together, because they send their parts then.
  bool is_collective() const { return source_.is_deferred && source_.is_collective; }
  /// Returns the elements of one of the tensors; if they are deferred, until the next call.
  tensor_view read(stored_tensor const& tensor) const;
  std::span<stored_tensor const> tensors() const&;
  std::span<stored_tensor const> tensors() const&& = delete;  // keep the content in a variable
  safetensors_metadata const& metadata() const& { return metadata_; }
  safetensors_metadata const& metadata() const&& = delete;  // keep the content in a variable
  std::uint64_t network_hash() const { return network_hash_; }

 private:
  static void require_strategy(std::string const& name);

  void add_dense(parameter_set const& parameters, std::vector<detail::model_tensor> list);

  graph_view net_;
  std::uint64_t network_hash_;
  safetensors_metadata metadata_;
  std::vector<stored_tensor> tensors_;
  std::vector<buffer> memory_;
  detail::tensor_source source_;
  std::vector<std::pair<std::size_t, detail::model_tensor>> deferred_;  // by index in tensors_, ascending
  mutable reusable_buffer dense_;                                       // a deferred tensor
};

/// Writes a model as one safetensors file to a byte sink (a std::ostream, a file_writer). Returns the content
/// hash, which is also stored in the file.
///
/// Errors    data_error for a duplicate name, and the errors of model_content, before anything is written;
///           file_error if the sink fails.
/// Exact     equal content gives equal bytes.
std::uint64_t write_model(io::byte_sink_ref sink, model_content const& content);
std::uint64_t write_model(io::byte_sink_ref sink, graph_view net, parameter_set const& parameters,
                          std::optional<optimizer_state_view> const& state = std::nullopt);

/// Writes a model to a file, completely or not at all: see file_writer. Returns the content hash.
std::uint64_t save_model(std::string const& path, model_content const& content);
std::uint64_t save_model(std::string const& path, graph_view net, parameter_set const& parameters,
                         std::optional<optimizer_state_view> const& state = std::nullopt);

namespace detail {

/// Throws the data_error of write_model.
void check_model(model_content const& content);

/// Like save_model, but collective if content.is_collective(): a rank without a path sends its parts.
///
/// Errors    file_error, after all parts were exchanged. After another error of one rank, the other ranks
///           throw a communicator_error.
std::uint64_t save_model_of_ranks(communicator& world, std::optional<std::string> const& path,
                                  model_content const& content);

}  // namespace detail

}  // namespace cohort
