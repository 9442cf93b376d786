// SPDX-License-Identifier: Apache-2.0
#include <cohort/interchange/detail/onnx_importer.hpp>
#include <cohort/interchange/import_onnx.hpp>
#include <cohort/io/file.hpp>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort {

imported_model import_onnx(std::span<std::byte const> bytes, std::string const& origin,
                           onnx_import_settings const& settings) {
  std::string_view const text(reinterpret_cast<char const*>(bytes.data()), bytes.size());
  return detail::onnx_importer(detail::read_onnx_model(text, origin), origin, settings).run();
}

imported_model import_onnx(std::string const& path, onnx_import_settings const& settings) {
  std::vector<std::byte> bytes = io::read_file(path);
  std::string_view const text(reinterpret_cast<char const*>(bytes.data()), bytes.size());
  detail::onnx_model model = detail::read_onnx_model(text, path);
  bytes = {};  // the model has copies of the tensors
  return detail::onnx_importer(std::move(model), path, settings).run();
}

}  // namespace cohort
