// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/checkpoint/graph_json.hpp>
#include <cohort/checkpoint/safetensors_writer.hpp>
#include <cohort/checkpoint/training_position.hpp>
#include <cohort/optimizer/optimizer.hpp>
#include <cohort/optimizer/plateau.hpp>
#include <cohort/plan/parameter_set.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

/// What updaters remember, where its owner keeps it.
///
/// Shapes    array k is an arena with the master's size and layouts; it holds state array k of each parameter whose
///           updater (of its layer and role) has that many.
struct updater_state_view {
  optimizer_settings settings{};
  training_position position{};
  std::span<std::byte* const> arrays{};
  cohort::plateau plateau{};  ///< what reduce_on_plateau has seen of the loss
};

namespace detail {

inline constexpr std::string_view model_format = "cohort model";
inline constexpr std::string_view model_format_version = "1";
inline constexpr std::string_view state_prefix = "state/";
inline constexpr std::string_view strategy_prefix = "strategy/";

/// A tensor of a model file and the place of its numbers in this process: parameter `p` of an arena.
struct model_tensor {
  std::string name;
  int p;
  std::byte* arena;
};

std::vector<model_tensor> parameter_tensors(parameter_set const& parameters);

/// Errors    setting_error if there are fewer arrays than the updaters have.
std::vector<model_tensor> state_tensors(parameter_set const& parameters, optimizer_settings const& settings,
                                        std::span<std::byte* const> arrays);

/// Of all that a model file holds but the header's spelling.
std::uint64_t content_hash(std::span<stored_tensor const> tensors, safetensors_metadata const& metadata);

}  // namespace detail

/// What a model file is to hold: a network and, as far as they are added, its parameters, its updaters' state, and what a
/// strategy remembers.
///
/// Shapes    tensors are dense and canonical, of the parameters' type: "conv2d_1.weights", "state/mean/conv2d_1.weights".
/// Before    `net` lives until the last add_parameters or add_state.
/// After     parameters and state were copied: training may go on.
/// Errors    shape_error if the parameters are not the network's, setting_error if state arrays are missing or a
///           strategy's name does not say so.
/// Exact     equal models give equal content, whatever backend holds them.
class model_content {
 public:
  explicit model_content(graph_view net);
  // Copies would point into the memory of the first.
  model_content(model_content&&) = default;
  model_content& operator=(model_content&&) = default;

  model_content& add_parameters(parameter_set const& parameters);

  model_content& add_state(parameter_set const& parameters, updater_state_view const& state);

  /// A tensor of a strategy, "strategy/…", that stays where it is until it is written: whoever reads the file as a model
  /// passes over it.
  model_content& add(std::string name, tensor_view tensor);
  /// The same for a text; "listener/…" is one of a listener.
  model_content& note(std::string key, std::string text);

  std::span<stored_tensor const> tensors() const { return tensors_; }
  safetensors_metadata const& metadata() const { return metadata_; }
  std::uint64_t network_hash() const { return network_hash_; }

 private:
  static void require_strategy(std::string const& name);

  void add_dense(parameter_set const& parameters, std::vector<detail::model_tensor> list);

  graph_view net_;
  std::uint64_t network_hash_;
  safetensors_metadata metadata_;
  std::vector<stored_tensor> tensors_;
  std::vector<buffer> memory_;
};

/// Writes a model as one safetensors file: to a sink of bytes (a std::ostream, a file_writer). Returns the hash of the
/// content, which stands in the file as well.
///
/// Errors    before anything is written: data_error for a name given twice, and those of model_content; file_error if the
///           sink fails.
/// Exact     equal content gives equal bytes.
std::uint64_t write_model(byte_sink_ref sink, model_content const& content);
std::uint64_t write_model(byte_sink_ref sink, graph_view net, parameter_set const& parameters,
                          std::optional<updater_state_view> const& state = std::nullopt);

/// The same to a file, which exists whole or not at all: see file_writer.
std::uint64_t save_model(std::string const& path, model_content const& content);
std::uint64_t save_model(std::string const& path, graph_view net, parameter_set const& parameters,
                         std::optional<updater_state_view> const& state = std::nullopt);

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/checkpoint/impl/model_content.ipp>
#endif
