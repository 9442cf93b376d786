// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/graph/builder.hpp>
#include <cohort/io/json_value.hpp>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort::detail {

/// The modes of padding that need no numbers, by their enumerators.
inline constexpr std::array<std::string_view, 3> padding_names{"valid", "same", "strict"};

/// The name of a layer that was given none: as graph_view::name.
std::string generated_name(kind const& kind, int ordinal);

/// Reads a list of layers into a builder: names first, then each layer after its inputs.
class graph_reader {
 public:
  graph_reader(json_value list, std::span<cohort::kind const* const> kinds) : list_(list), kinds_(kinds) {}

  builder read();

 private:
  struct layer_entry {
    json_value value;
    cohort::kind const* kind;
    std::string_view name;
    std::vector<std::size_t> inputs{};   // numbers of layers in the text
    std::optional<std::size_t> owner{};  // of the parameters
    int id = -1;                         // in the builder
    bool entered = false;
  };
  struct step {
    std::size_t layer;
    std::size_t next_input = 0;
  };

  void declare(json_value value);

  void resolve(std::size_t i);

  std::size_t named(json_value name) const;

  /// Appends a layer after all that it needs, its inputs and the layer whose parameters it shares; layers that are in such an
  /// order already keep it.
  void visit(std::size_t first);

  /// The way leads from a layer to its inputs; the sentence follows the data.
  [[noreturn]] void refuse_cycle(std::vector<step> const& way, std::size_t start) const;

  void append(layer_entry& layer);

  /// Fields that the text leaves out stay as they are, but those that the layer itself requires.
  void read_fields(layer_entry const& layer, double* values) const;

  void check_size(layer_entry const& layer, shape const& dims) const;

  std::string path(std::size_t i) const { return layers_[i].value.path(); }
  std::string where(layer_entry const& layer) const;

  json_value list_;
  std::span<cohort::kind const* const> kinds_;
  std::map<std::string_view, std::size_t> by_name_;
  std::vector<layer_entry> layers_;
  std::map<cohort::kind const*, int> ordinals_;
  builder net_;
};

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/checkpoint/impl/graph_reader.ipp>
#endif
