// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/checkpoint/safetensors_writer.hpp>
#include <cohort/detail/json_string.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/io/json_writer.hpp>
#include <cstdint>
#include <cstring>
#include <vector>

namespace cohort::detail {

/// Sorts by element size, largest first, otherwise in the given order, so that every tensor is aligned for
/// its elements.
std::vector<stored_tensor const*> by_element_size(std::span<stored_tensor const> tensors) {
  std::vector<stored_tensor const*> order;
  for (stored_tensor const& tensor : tensors) order.push_back(&tensor);
  std::stable_sort(order.begin(), order.end(),
                   [](auto a, auto b) { return bytes_of(a->view.type) > bytes_of(b->view.type); });
  return order;
}

void check_tensors(std::vector<stored_tensor const*> order) {
  std::sort(order.begin(), order.end(), [](auto a, auto b) { return a->name < b->name; });
  for (std::size_t i = 0; i < order.size(); ++i) {
    bool const twice = i > 0 && order[i]->name == order[i - 1]->name;
    if (!twice && !order[i]->name.empty() && order[i]->name != "__metadata__") continue;
    throw data_error({.what = "cannot write safetensors",
                      .where = {"tensor ", quote_for_error(order[i]->name)},
                      .expected = "unique names, none of them empty or \"__metadata__\"",
                      .got = twice ? "two tensors of this name" : "this name"});
  }
  for (stored_tensor const* const tensor : order)
    if (!tensor->unread_type.empty())
      throw data_error(
          {.what = "cannot write safetensors",
           .where = {"tensor ", quote_for_error(tensor->name)},
           .expected = "tensors with data",
           .got = {"a tensor of type ", quote_for_error(tensor->unread_type), ", which was not read"}});
}

/// Returns the length and the JSON header, padded with spaces so that the data is aligned.
std::string safetensors_header(std::span<stored_tensor const* const> order,
                               safetensors_metadata const& metadata) {
  io::json_writer json;
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

void check_safetensors(std::span<stored_tensor const> tensors, safetensors_metadata const& metadata) {
  auto const order = by_element_size(tensors);
  check_tensors(order);
  safetensors_header(order, metadata);
}

}  // namespace cohort::detail

namespace cohort {

void write_safetensors(io::byte_sink_ref sink, std::span<stored_tensor const> tensors,
                       safetensors_metadata const& metadata, detail::tensor_reader const& read) {
  auto const order = detail::by_element_size(tensors);
  detail::check_tensors(order);
  std::string const header = detail::safetensors_header(order, metadata);
  sink.write(header.data(), header.size());
  for (stored_tensor const* tensor : order) {
    tensor_view const values = read ? read(*tensor) : tensor->view;
    sink.write(reinterpret_cast<char const*>(values.data), values.bytes());
  }
}

void save_safetensors(std::string const& path, std::span<stored_tensor const> tensors,
                      safetensors_metadata const& metadata) {
  io::file_writer file(path);
  write_safetensors(file, tensors, metadata);
  file.commit();
}

}  // namespace cohort
