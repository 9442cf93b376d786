// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/checkpoint/graph_json.hpp>
#include <cohort/checkpoint/model_content.hpp>
#include <cohort/checkpoint/safetensors.hpp>
#include <cohort/optimizer/optimizer.hpp>
#include <cohort/plan/parameter_set.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cohort {

namespace detail {

template <class To, class From>
void convert(tensor_view from, std::byte* to) {
  auto const source = from.as<From>();
  std::transform(source.begin(), source.end(), reinterpret_cast<To*>(to),
                 [](From x) { return static_cast<To>(x); });
}

/// A dense tensor of f32 or f64 and where it goes: parameter `p` of an arena.
struct arriving_tensor {
  tensor_view from;
  int p;
  std::byte* arena;
};

/// After     all memory was had before the first number was written.
void write_dense(parameter_set const& layouts, std::span<arriving_tensor const> all);

}  // namespace detail

/// A model that was saved, in memory: gives its network, and fills parameters and updater state.
///
///     model_file const saved = model_file::open("lenet.safetensors");
///     graph const net = saved.network();
///     saved.read_parameters(net, *parameters);
///
/// Before    the file is untrusted: see safetensors and from_json.
/// Errors    file_error if it cannot be read; data_error naming the file and what is wrong with it: damage (by a hash of
///           all its content), another network, a tensor that is missing, too many or of another shape.
///           All is checked before the first number is written.
/// Exact     numbers of the same type keep their bits; f64 becomes the nearest f32, f32 is exact in f64.
class model_file {
 public:
  static model_file open(std::string const& path, safetensors_limits limits = {});
  template <byte_stream Stream>
  static model_file read(Stream& in, std::string const& name = "stream", safetensors_limits limits = {}) {
    return model_file(safetensors::read(in, name, limits));
  }

  /// The tensors of a strategy ("strategy/…") and its notes are read from here.
  safetensors const& file() const { return file_; }

  /// `Own` are kinds of layers beside the library's.
  template <layer... Own>
  graph network() const {
    graph made = from_json<Own...>(metadata("graph"), file_.name() + " graph");
    if (std::string const hash = detail::hash_text(detail::written_hash(made));
        hash != metadata("graph_hash"))
      refuse_metadata("graph_hash", "the graph's hash " + hash);
    return made;
  }

  /// How it was trained and how far; nothing if the updaters' state was not saved.
  std::optional<optimizer_settings> const& optimizer() const { return optimizer_; }
  training_position position() const { return position_; }
  /// What reduce_on_plateau had seen of the loss.
  cohort::plateau const& plateau() const { return plateau_; }
  /// A rank's file in a checkpoint may hold none.
  bool has_parameters() const;

  /// Fills parameters of the same network; without `net`, of any that has parameters of the same names and shapes.
  void read_parameters(graph_view net, parameter_set& into) const;
  void read_parameters(parameter_set& into) const;

  /// Fills arenas with the layouts of `parameters`; updaters may have other rates and fields than when it was saved.
  ///
  /// Errors    setting_error if there are too few arrays; data_error also for other updaters or no state in the file.
  training_position read_state(parameter_set const& parameters, optimizer_settings const& settings,
                               std::span<std::byte* const> arrays) const;

 private:
  struct difference {
    std::string name, expected, got;
  };

  explicit model_file(safetensors file);

  std::string const& metadata(std::string const& key) const;
  [[noreturn]] void refuse_metadata(std::string const& key, std::string expected) const;
  std::int64_t count(std::string const& key) const;

  static bool is_real(element_type type) { return type == element_type::f32 || type == element_type::f64; }

  /// Neither state of an updater nor what a strategy remembers.
  static bool is_parameter(stored_tensor const& one);

  /// `alone`: whether other parameters than those of the list make a difference.
  std::optional<difference> first_difference(parameter_set const& parameters,
                                             std::vector<detail::model_tensor> const& list, bool alone) const;

  [[noreturn]] void refuse_network(std::string const& tensor, std::string expected, std::string got) const;

  void read_all(parameter_set const& layouts, std::vector<detail::model_tensor> const& list,
                bool alone) const;

  safetensors file_;
  std::optional<optimizer_settings> optimizer_;
  training_position position_;
  cohort::plateau plateau_;
};

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/checkpoint/impl/model_file.ipp>
#endif
