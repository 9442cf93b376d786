// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The subset of onnx.proto, IR version 8, that Cohort reads and writes.
namespace cohort::detail {

/// TensorProto.DataType
enum class onnx_type : std::int32_t {
  undefined = 0,
  f32 = 1,
  u8 = 2,
  i8 = 3,
  u16 = 4,
  i16 = 5,
  i32 = 6,
  i64 = 7,
  text = 8,
  boolean = 9,
  f16 = 10,
  f64 = 11,
  u32 = 12,
  u64 = 13,
  bf16 = 16
};

/// Returns the type's name in ONNX: "float", "int64", ….
std::string name_of(onnx_type type);
/// Returns the size of an element in bytes; 0 for text and unknown types.
std::size_t bytes_of(onnx_type type);

/// Shapes    `raw`: the elements in row-major order, little-endian; empty for text.
struct onnx_tensor {
  std::string name{};
  onnx_type type = onnx_type::f32;
  std::vector<std::int64_t> dims{};
  std::string raw{};

  std::int64_t elements() const;
  /// Returns the elements of a tensor of f32; nullopt for other types.
  std::optional<std::vector<float>> floats() const;
  /// Returns the elements of a tensor of i32 or i64; nullopt for other types.
  std::optional<std::vector<std::int64_t>> integers() const;

  static onnx_tensor of(std::string name, std::vector<std::int64_t> dims, std::vector<float> const& values);
  static onnx_tensor of(std::string name, std::vector<std::int64_t> const& values);  ///< a vector of i64
};

/// An attribute of a node. `type` (AttributeProto.AttributeType) selects the member that contains the value.
struct onnx_attribute {
  enum kind : std::int32_t {
    undefined = 0,
    real = 1,
    integer = 2,
    text = 3,
    tensor = 4,
    reals = 6,
    integers = 7,
    texts = 8
  };

  std::string name{};
  kind type = undefined;
  float f = 0;
  std::int64_t i = 0;
  std::string s{};
  std::vector<onnx_tensor> t{};  // one element if the type is `tensor`; otherwise empty
  std::vector<float> floats{};
  std::vector<std::int64_t> ints{};
  std::vector<std::string> strings{};
};

/// Returns the name of an attribute's type in ONNX: "FLOAT", "INTS", ….
std::string name_of(onnx_attribute::kind type);

struct onnx_node {
  std::string op{};
  std::vector<std::string> inputs{};  // "": an optional input that is omitted
  std::vector<std::string> outputs{};
  std::vector<onnx_attribute> attributes{};
  std::string name{};
  std::string domain{};

  onnx_attribute const* find(std::string_view attribute) const;
};

/// An extent of an input or output: `value`, or a name for an extent that is known at run time only.
struct onnx_extent {
  std::int64_t value = -1;
  std::string name{};
};

/// Type and shape of an input or output. `type` undefined: not a tensor.
struct onnx_value_info {
  std::string name{};
  onnx_type type = onnx_type::undefined;
  bool has_shape = false;
  std::vector<onnx_extent> dims{};
};

struct onnx_model {
  std::int64_t ir_version = 8;
  std::vector<std::pair<std::string, std::int64_t>> opsets{};  // domain ("": ai.onnx) and version
  std::string producer{};
  std::string producer_version{};
  std::string graph_name{};
  std::vector<onnx_node> nodes{};
  std::vector<onnx_tensor> initializers{};
  std::vector<onnx_value_info> inputs{};
  std::vector<onnx_value_info> outputs{};
  bool has_functions = false;
  bool has_sparse = false;  // whether the file has sparse initializers
};

/// Reads a file from an untrusted source. `file`: its name, for error messages.
///
/// Errors    data_error with the file, the byte and the protobuf message, if the bytes are not an ONNX model,
///           if a tensor has external data or a number of elements that contradicts its extents, or if the
///           file has more than 2^20 messages.
onnx_model read_onnx_model(std::string_view bytes, std::string const& file);
/// Reads a file with one tensor, such as those in ONNX's test data.
onnx_tensor read_onnx_tensor(std::string_view bytes, std::string const& file);
/// Returns the bytes of the model's file.
std::string write_onnx_model(onnx_model const& model);

}  // namespace cohort::detail
