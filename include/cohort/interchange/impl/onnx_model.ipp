// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cohort/interchange/detail/onnx_model.hpp>
#include <cohort/io/detail/protobuf.hpp>
#include <cstring>

namespace cohort::detail {

/// Limits of the elements of a tensor and of the messages of a file.
inline constexpr std::int64_t max_onnx_elements = std::int64_t{1} << 30;
inline constexpr std::int64_t max_onnx_messages = std::int64_t{1} << 20;

std::string name_of(onnx_type type) {
  constexpr std::array<std::string_view, 17> names{
      "undefined", "float",   "uint8",  "int8",   "uint16", "int16",     "int32",      "int64",   "string",
      "bool",      "float16", "double", "uint32", "uint64", "complex64", "complex128", "bfloat16"};
  auto const number = static_cast<std::size_t>(type);
  return number < names.size() ? std::string(names[number]) : "type " + std::to_string(number);
}

std::size_t bytes_of(onnx_type type) {
  constexpr std::array<std::uint8_t, 17> sizes{0, 4, 1, 1, 2, 2, 4, 8, 0, 1, 2, 8, 4, 8, 0, 0, 2};
  auto const number = static_cast<std::size_t>(type);
  return number < sizes.size() ? sizes[number] : 0;
}

std::string name_of(onnx_attribute::kind type) {
  constexpr std::array<std::string_view, 9> names{"UNDEFINED", "FLOAT",  "INT",  "STRING", "TENSOR",
                                                  "GRAPH",     "FLOATS", "INTS", "STRINGS"};
  auto const number = static_cast<std::size_t>(type);
  return number < names.size() ? std::string(names[number]) : "type " + std::to_string(number);
}

template <class T>
std::vector<T> elements_of(std::string const& raw) {
  std::vector<T> values(raw.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), raw.data(), values.size() * sizeof(T));
  return values;
}

template <class T>
std::string raw_of(std::vector<T> const& values) {
  return {reinterpret_cast<char const*>(values.data()), values.size() * sizeof(T)};
}

std::int64_t onnx_tensor::elements() const {
  std::int64_t product = 1;
  for (std::int64_t const one : dims) product *= one;
  return product;
}

std::optional<std::vector<float>> onnx_tensor::floats() const {
  if (type != onnx_type::f32) return std::nullopt;
  return elements_of<float>(raw);
}

std::optional<std::vector<std::int64_t>> onnx_tensor::integers() const {
  if (type == onnx_type::i64) return elements_of<std::int64_t>(raw);
  if (type != onnx_type::i32) return std::nullopt;
  std::vector<std::int32_t> const narrow = elements_of<std::int32_t>(raw);
  return std::vector<std::int64_t>(narrow.begin(), narrow.end());
}

onnx_tensor onnx_tensor::of(std::string name, std::vector<std::int64_t> dims,
                            std::vector<float> const& values) {
  return {std::move(name), onnx_type::f32, std::move(dims), raw_of(values)};
}

onnx_tensor onnx_tensor::of(std::string name, std::vector<std::int64_t> const& values) {
  return {std::move(name), onnx_type::i64, {static_cast<std::int64_t>(values.size())}, raw_of(values)};
}

onnx_attribute const* onnx_node::find(std::string_view attribute) const {
  auto const found = std::ranges::find(attributes, attribute, &onnx_attribute::name);
  return found == attributes.end() ? nullptr : &*found;
}

/// Reads the messages of onnx.proto. Fields that Cohort does not use are skipped.
class onnx_reader {
 public:
  onnx_model model(protobuf_reader in) {
    onnx_model made;
    made.ir_version = 0;
    bool has_graph = false;
    while (in.next()) switch (in.field()) {
        case 1:
          made.ir_version = in.integer();
          break;
        case 2:
          made.producer = in.bytes();
          break;
        case 3:
          made.producer_version = in.bytes();
          break;
        case 7:
          graph({in, "graph"}, made);
          has_graph = true;
          break;
        case 8:
          made.opsets.push_back(opset(message(in, "opset_import", made.opsets.size())));
          break;
        case 25:
          made.has_functions = true;
          break;
        default:
          break;
      }
    if (!has_graph || made.ir_version == 0)
      in.refuse("an ONNX model: an IR version and a graph", "a message without them");
    return made;
  }

  onnx_tensor tensor(protobuf_reader in) {
    onnx_tensor made;
    made.type = onnx_type::undefined;
    std::vector<float> floats;
    std::vector<double> doubles;
    std::vector<std::int64_t> integers;
    bool has_raw = false;
    while (in.next()) switch (in.field()) {
        case 1:
          in.append_to(made.dims);
          break;
        case 2:
          made.type = static_cast<onnx_type>(std::clamp<std::int64_t>(in.integer(), 0, 1000));
          break;
        case 4:
          in.append_to(floats);
          break;
        case 5:
        case 7:
        case 11:
          in.append_to(integers);
          break;
        case 8:
          made.name = in.bytes();
          break;
        case 9:
          made.raw = in.bytes();
          has_raw = true;
          break;
        case 10:
          in.append_to(doubles);
          break;
        case 13:
          in.refuse("a tensor whose elements are in the file",
                    "external data in another file; load the model and call onnx.save without external data");
        case 14:
          if (in.integer() != 0)
            in.refuse(
                "a tensor whose elements are in the file",
                "external data in another file; load the model and call onnx.save without external data");
          break;
        default:
          break;
      }
    std::int64_t const elements = checked_elements(in, made);
    if (made.type == onnx_type::text) return made;
    if (!has_raw) pack(made, floats, doubles, integers);
    std::size_t const size = bytes_of(made.type);
    if (size == 0) in.refuse("elements of a known type", name_of(made.type));
    if (made.raw.size() != static_cast<std::size_t>(elements) * size)
      in.refuse(std::to_string(elements) + " elements of " + std::to_string(size) + " bytes",
                std::to_string(made.raw.size()) + " bytes");
    return made;
  }

 private:
  protobuf_reader message(protobuf_reader const& in, char const* name, std::size_t index) {
    if (++messages_ > max_onnx_messages)
      in.refuse("at most " + std::to_string(max_onnx_messages) + " messages", "more");
    return {in, name, static_cast<std::int64_t>(index)};
  }

  static std::int64_t checked_elements(protobuf_reader const& in, onnx_tensor const& made) {
    std::int64_t product = 1;
    for (std::int64_t const one : made.dims) {
      if (one < 0 || one > max_onnx_elements || product * one > max_onnx_elements)
        in.refuse("a tensor of at most " + std::to_string(max_onnx_elements) + " elements",
                  "an extent of " + std::to_string(one));
      product *= one;
    }
    return product;
  }

  /// Converts typed fields to raw bytes.
  static void pack(onnx_tensor& to, std::vector<float> const& floats, std::vector<double> const& doubles,
                   std::vector<std::int64_t> const& integers) {
    if (to.type == onnx_type::f32) to.raw = raw_of(floats);
    if (to.type == onnx_type::f64) to.raw = raw_of(doubles);
    if (to.type == onnx_type::f32 || to.type == onnx_type::f64) return;
    std::size_t const size = bytes_of(to.type);
    to.raw.reserve(size * integers.size());
    for (std::int64_t const one : integers) to.raw.append(reinterpret_cast<char const*>(&one), size);
  }

  std::pair<std::string, std::int64_t> opset(protobuf_reader in) {
    std::pair<std::string, std::int64_t> made{"", 0};
    while (in.next()) {
      if (in.field() == 1) made.first = in.bytes();
      if (in.field() == 2) made.second = in.integer();
    }
    if (made.first == "ai.onnx") made.first.clear();
    return made;
  }

  void graph(protobuf_reader in, onnx_model& to) {
    while (in.next()) switch (in.field()) {
        case 1:
          to.nodes.push_back(node(message(in, "node", to.nodes.size())));
          break;
        case 2:
          to.graph_name = in.bytes();
          break;
        case 5:
          to.initializers.push_back(tensor(message(in, "initializer", to.initializers.size())));
          break;
        case 11:
          to.inputs.push_back(value_info(message(in, "input", to.inputs.size())));
          break;
        case 12:
          to.outputs.push_back(value_info(message(in, "output", to.outputs.size())));
          break;
        case 15:
          to.has_sparse = true;
          break;
        default:
          break;
      }
  }

  onnx_node node(protobuf_reader in) {
    onnx_node made;
    while (in.next()) switch (in.field()) {
        case 1:
          made.inputs.emplace_back(in.bytes());
          count(in);
          break;
        case 2:
          made.outputs.emplace_back(in.bytes());
          count(in);
          break;
        case 3:
          made.name = in.bytes();
          break;
        case 4:
          made.op = in.bytes();
          break;
        case 5:
          made.attributes.push_back(attribute(message(in, "attribute", made.attributes.size())));
          break;
        case 7:
          made.domain = in.bytes();
          break;
        default:
          break;
      }
    if (made.domain == "ai.onnx") made.domain.clear();
    return made;
  }

  onnx_attribute attribute(protobuf_reader in) {
    onnx_attribute made;
    while (in.next()) switch (in.field()) {
        case 1:
          made.name = in.bytes();
          break;
        case 2:
          made.f = in.real();
          break;
        case 3:
          made.i = in.integer();
          break;
        case 4:
          made.s = in.bytes();
          break;
        case 5:
          made.t.assign(1, tensor(message(in, "t", 0)));
          break;
        case 7:
          in.append_to(made.floats);
          break;
        case 8:
          in.append_to(made.ints);
          break;
        case 9:
          made.strings.emplace_back(in.bytes());
          count(in);
          break;
        case 20:
          made.type = static_cast<onnx_attribute::kind>(std::clamp<std::int64_t>(in.integer(), 0, 1000));
          break;
        default:
          break;
      }
    if (made.type == onnx_attribute::tensor && made.t.empty()) in.refuse("a tensor", "none");
    return made;
  }

  onnx_value_info value_info(protobuf_reader in) {
    onnx_value_info made;
    while (in.next()) {
      if (in.field() == 1) made.name = in.bytes();
      if (in.field() != 2) continue;
      protobuf_reader type(in, "type");
      while (type.next())
        if (type.field() == 1) tensor_type({type, "tensor_type"}, made);
    }
    return made;
  }

  void tensor_type(protobuf_reader in, onnx_value_info& to) {
    while (in.next()) {
      if (in.field() == 1) to.type = static_cast<onnx_type>(std::clamp<std::int64_t>(in.integer(), 0, 1000));
      if (in.field() != 2) continue;
      to.has_shape = true;
      protobuf_reader shape(in, "shape");
      while (shape.next()) {
        if (shape.field() != 1) continue;
        onnx_extent extent;
        protobuf_reader dim = message(shape, "dim", to.dims.size());
        while (dim.next()) {
          if (dim.field() == 1) extent.value = dim.integer();
          if (dim.field() == 2) extent.name = dim.bytes();
        }
        to.dims.push_back(std::move(extent));
      }
    }
  }

  void count(protobuf_reader const& in) {
    if (++messages_ > max_onnx_messages)
      in.refuse("at most " + std::to_string(max_onnx_messages) + " messages", "more");
  }

  std::int64_t messages_ = 0;
};

onnx_model read_onnx_model(std::string_view bytes, std::string const& file) {
  return onnx_reader().model(protobuf_reader(bytes, file, "cannot read the ONNX file"));
}

onnx_tensor read_onnx_tensor(std::string_view bytes, std::string const& file) {
  return onnx_reader().tensor(protobuf_reader(bytes, file, "cannot read the ONNX file"));
}

std::string message_of(onnx_tensor const& from) {
  protobuf_writer out;
  for (std::int64_t const one : from.dims) out.integer(1, one);
  out.integer(2, static_cast<std::int64_t>(from.type));
  out.bytes(8, from.name);
  out.bytes(9, from.raw);
  return out.text();
}

std::string message_of(onnx_attribute const& from) {
  protobuf_writer out;
  out.bytes(1, from.name);
  if (from.type == onnx_attribute::real) out.real(2, from.f);
  if (from.type == onnx_attribute::integer) out.integer(3, from.i);
  if (from.type == onnx_attribute::text) out.bytes(4, from.s);
  for (onnx_tensor const& one : from.t) out.bytes(5, message_of(one));
  for (float const one : from.floats) out.real(7, one);
  for (std::int64_t const one : from.ints) out.integer(8, one);
  for (std::string const& one : from.strings) out.bytes(9, one);
  out.integer(20, from.type);
  return out.text();
}

std::string message_of(onnx_node const& from) {
  protobuf_writer out;
  for (std::string const& one : from.inputs) out.bytes(1, one);
  for (std::string const& one : from.outputs) out.bytes(2, one);
  out.bytes(3, from.name);
  out.bytes(4, from.op);
  for (onnx_attribute const& one : from.attributes) out.bytes(5, message_of(one));
  if (!from.domain.empty()) out.bytes(7, from.domain);
  return out.text();
}

std::string message_of(onnx_value_info const& from) {
  protobuf_writer shape;
  for (onnx_extent const& one : from.dims) {
    protobuf_writer dim;
    one.name.empty() ? dim.integer(1, one.value) : dim.bytes(2, one.name);
    shape.bytes(1, dim.text());
  }
  protobuf_writer tensor, type, out;
  tensor.integer(1, static_cast<std::int64_t>(from.type));
  if (from.has_shape) tensor.bytes(2, shape.text());
  type.bytes(1, tensor.text());
  out.bytes(1, from.name);
  out.bytes(2, type.text());
  return out.text();
}

std::string write_onnx_model(onnx_model const& model) {
  protobuf_writer graph;
  for (onnx_node const& one : model.nodes) graph.bytes(1, message_of(one));
  graph.bytes(2, model.graph_name);
  for (onnx_tensor const& one : model.initializers) graph.bytes(5, message_of(one));
  for (onnx_value_info const& one : model.inputs) graph.bytes(11, message_of(one));
  for (onnx_value_info const& one : model.outputs) graph.bytes(12, message_of(one));
  protobuf_writer out;
  out.integer(1, model.ir_version);
  out.bytes(2, model.producer);
  out.bytes(3, model.producer_version);
  out.bytes(7, graph.text());
  for (auto const& [domain, version] : model.opsets) {
    protobuf_writer opset;
    opset.bytes(1, domain);
    opset.integer(2, version);
    out.bytes(8, opset.text());
  }
  return out.text();
}

}  // namespace cohort::detail
