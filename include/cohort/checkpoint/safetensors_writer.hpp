// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <array>
#include <cohort/checkpoint/safetensors_format.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/io/json_writer.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

/// Takes bytes as std::ostream and file_writer do.
template <class Sink>
concept byte_sink = requires(Sink& sink, char const* data, int bytes) {
  sink.write(data, bytes);
};

namespace detail {

/// By element size, largest first, else as given: then every tensor is aligned for its elements.
inline std::vector<stored_tensor const*> in_file_order(std::span<stored_tensor const> tensors) {
  std::vector<stored_tensor const*> order;
  for (stored_tensor const& tensor : tensors) order.push_back(&tensor);
  std::stable_sort(order.begin(), order.end(),
                   [](auto a, auto b) { return bytes_of(a->view.type) > bytes_of(b->view.type); });
  return order;
}

inline void check_names(std::vector<stored_tensor const*> order) {
  std::sort(order.begin(), order.end(), [](auto a, auto b) { return a->name < b->name; });
  for (std::size_t i = 0; i < order.size(); ++i) {
    bool const twice = i > 0 && order[i]->name == order[i - 1]->name;
    if (!twice && !order[i]->name.empty() && order[i]->name != "__metadata__") continue;
    throw data_error({.what = "cannot write safetensors",
                      .where = {"tensor ", shown(order[i]->name)},
                      .expected = "each name once, and none that is empty or \"__metadata__\"",
                      .got = twice ? "two tensors of this name" : "this name"});
  }
}

/// The length and the JSON header, padded with spaces so that the data begin aligned.
inline std::string safetensors_header(std::span<stored_tensor const* const> order,
                                      safetensors_metadata const& metadata) {
  json_writer json;
  json.begin_object();
  if (!metadata.empty()) {
    json.key("__metadata__").begin_object();
    for (auto const& [key, text] : metadata) json.field(key, text);
    json.end_object();
  }
  std::uint64_t offset = 0;
  for (stored_tensor const* tensor : order) {
    tensor_view const& view = tensor->view;
    json.key(tensor->name).begin_object().field("dtype", safetensors_name(view.type));
    json.key("shape").begin_array();
    for (int axis = 0; axis < view.dims.rank; ++axis) json.value(view.dims[axis]);
    json.end_array().key("data_offsets").begin_array().value(offset);
    offset += view.bytes();
    json.value(offset).end_array().end_object();
  }
  std::string const text = json.end_object().text();
  std::string header(sizeof(std::uint64_t), '\0');
  header += text;
  header.resize((header.size() + safetensors_alignment - 1) / safetensors_alignment * safetensors_alignment,
                ' ');
  std::uint64_t const bytes = header.size() - sizeof(std::uint64_t);
  if (bytes > safetensors_header_limit) {
    throw data_error({.what = "cannot write safetensors",
                      .where = "header",
                      .expected = {"at most ", safetensors_header_limit, " bytes"},
                      .got = {bytes}});
  }
  std::memcpy(header.data(), &bytes, sizeof bytes);
  return header;
}

}  // namespace detail

/// Writes tensors and metadata in the safetensors format: equal arguments give equal bytes.
///
/// Shapes    any; also scalars and tensors without elements.
/// Order     in the file by element size, largest first, and as given among equals.
/// Errors    data_error, before anything is written, for a name given twice, empty or reserved, or for text
///           that is not UTF-8; file_error if the sink fails.
/// Source    https://huggingface.co/docs/safetensors
template <byte_sink Sink>
void write_safetensors(Sink& sink, std::span<stored_tensor const> tensors,
                       safetensors_metadata const& metadata = {}) {
  auto const order = detail::in_file_order(tensors);
  detail::check_names(order);
  auto put = [&](char const* data, std::size_t bytes) {
    if (bytes > 0) sink.write(data, static_cast<std::ptrdiff_t>(bytes));
    if constexpr (requires { sink.fail(); }) {
      if (sink.fail()) {
        throw file_error({.what = "cannot write safetensors",
                          .where = "stream",
                          .expected = {},
                          .got = "a failed stream"});
      }
    }
  };
  std::string const header = detail::safetensors_header(order, metadata);
  put(header.data(), header.size());
  for (stored_tensor const* tensor : order) {
    put(reinterpret_cast<char const*>(tensor->view.data), tensor->view.bytes());
  }
}

/// Writes a safetensors file whole or not at all; see file_writer.
inline void save_safetensors(std::string const& path, std::span<stored_tensor const> tensors,
                             safetensors_metadata const& metadata = {}) {
  file_writer file(path);
  write_safetensors(file, tensors, metadata);
  file.commit();
}

}  // namespace cohort
