// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/graph/builder.hpp>
#include <cohort/io/json_value.hpp>
#include <cohort/io/json_writer.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort::detail {

/// Limits on an untrusted file: elements of a layer's inputs, outputs or parameters, and numbers of layers
/// and of a layer's inputs. Within these limits and those of read_field, no sum or product of extents
/// overflows in the layers' shape inference.
inline constexpr std::int64_t max_layer_elements = std::int64_t{1} << 30;
inline constexpr std::size_t max_layers = 10'000;
inline constexpr std::size_t max_layer_inputs = 1'000;

/// Names of the padding modes without numbers, in the order of the enumerators.
inline constexpr std::array<std::string_view, 3> padding_names{"valid", "same", "strict"};

/// Returns the name of a layer without a given name, as in graph_view::name.
std::string generated_name(kind const& kind, int ordinal);

/// Reads the value of a field into its slots.
///
/// Errors    data_error at `value` for another type, or a number beyond the limits of untrusted files.
void read_field(field_info const& info, io::json_value value, double* to);

/// Writes a field's name and value.
void write_field(io::json_writer& out, field_info const& info, double const* from);

/// Throws graph_error, with `where`, for a tensor without elements, or with more elements than an untrusted
/// file may define.
void check_layer_size(shape const& dims, std::string const& where);

/// Reads a list of layers into a builder: first all names, then each layer after its inputs.
class graph_reader {
 public:
  graph_reader(io::json_value list, std::span<cohort::kind const* const> kinds)
      : list_(list), kinds_(kinds) {}

  builder read();

 private:
  struct layer_entry {
    io::json_value value;
    cohort::kind const* kind;
    std::string_view name;
    std::vector<std::size_t> inputs{};   // indices of layers in the text
    std::optional<std::size_t> owner{};  // layer whose parameters are shared
    int id = -1;                         // id in the builder; -1 before append
    bool visited = false;
  };
  struct step {
    std::size_t layer;
    std::size_t next_input = 0;
  };

  void declare(io::json_value value);

  void resolve(std::size_t i);

  std::size_t find_layer(io::json_value name) const;

  /// Appends a layer after its dependencies: its inputs and the layer whose parameters it shares. Layers that
  /// are listed after their dependencies keep their order.
  void visit(std::size_t first);

  /// Throws data_error for a cycle. On the stack, each layer is followed by one of its dependencies. The
  /// message lists the layers in data-flow order.
  [[noreturn]] void refuse_cycle(std::vector<step> const& stack, std::size_t start) const;

  void append(layer_entry& layer);

  /// Reads a layer's fields. Omitted fields keep their default; required fields must be present.
  void read_fields(layer_entry const& layer, double* values) const;

  void check_size(layer_entry const& layer, shape const& dims) const;

  std::string path(std::size_t i) const { return layers_[i].value.path(); }
  std::string where(layer_entry const& layer) const;

  io::json_value list_;
  std::span<cohort::kind const* const> kinds_;
  std::map<std::string_view, std::size_t> by_name_;
  std::vector<layer_entry> layers_;
  std::map<cohort::kind const*, int> ordinals_;
  builder net_;
};

}  // namespace cohort::detail
