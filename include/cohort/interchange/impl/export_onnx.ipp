// SPDX-License-Identifier: Apache-2.0
#include <cohort/communicator/all_or_none.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/interchange/detail/onnx_exporter.hpp>
#include <cohort/interchange/export_onnx.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/training/detail/activity_scope.hpp>
#include <cohort/training/detail/model_transfer.hpp>

namespace cohort::detail {

/// Protocol Buffers limits messages to less than 2 GiB.
inline constexpr std::size_t max_onnx_bytes = (std::size_t{1} << 31) - 1;

std::string onnx_bytes(training& run, model_content const& content, onnx_export_settings const& how) {
  std::string bytes =
      write_onnx_model(onnx_exporter(run.network(), content.tensors(), run.state().preparation, how).run());
  if (bytes.size() > max_onnx_bytes)
    throw graph_error({.what = "the network cannot be exported to ONNX",
                       .expected = {"a file of at most ", max_onnx_bytes, " bytes"},
                       .got = {bytes.size()}});
  return bytes;
}

}  // namespace cohort::detail

namespace cohort {

void export_onnx(training& run, std::string const& path, onnx_export_settings const& how) {
  detail::activity_scope const saving(run.state(), rank_progress::activity::saving);
  model_content const content = detail::consensus_model(run.state(), false);
  // Every rank converts the network, so that all ranks throw if a layer is refused.
  std::string const bytes = detail::onnx_bytes(run, content, how);
  auto const write = [&] {
    if (run.world().rank() == 0) io::write_file(path, bytes);
    return std::string();
  };
  if (run.world().size() == 1)
    write();
  else if (auto const all = outcome_of_all(run.world(), "export_onnx", write); !all.trouble.empty())
    throw file_error({.what = "cannot write the ONNX file", .where = path, .got = all.trouble});
}

void export_onnx(training& run, io::byte_sink_ref to, onnx_export_settings const& how) {
  detail::activity_scope const saving(run.state(), rank_progress::activity::saving);
  std::string const bytes = detail::onnx_bytes(run, detail::consensus_model(run.state(), false), how);
  to.write(bytes.data(), bytes.size());
}

}  // namespace cohort
