// SPDX-License-Identifier: Apache-2.0
#pragma once
// The paths in a run document.
#include <cohort/configuration/data_source.hpp>
#include <string>
#include <string_view>
#include <variant>

namespace cohort::detail {

/// What a path of a document names. A file that a run reads may be a remote one.
enum class path_kind { read_file, folder, written };

/// Calls visit(kind, field, path) for each path of a data source that is set.
template <class Visit>
struct data_paths {
  Visit const& visit;

  void file(char const* field, std::string& path) const {
    if (!path.empty()) visit(path_kind::read_file, field, path);
  }
  void folder(char const* field, std::string& path) const {
    if (!path.empty()) visit(path_kind::folder, field, path);
  }

  void operator()(digits_source&) const {}
  void operator()(mnist_source& s) const { folder("data.mnist.folder", s.folder); }
  void operator()(idx_source& s) const {
    file("data.idx.images", s.images);
    file("data.idx.labels", s.labels);
    file("data.idx.test_images", s.test_images);
    file("data.idx.test_labels", s.test_labels);
  }
  void operator()(table_source& s) const {
    file("data.table.file", s.file);
    file("data.table.test_file", s.test_file);
  }
  void operator()(text_source& s) const {
    file("data.text.file", s.file);
    if (auto* const gpt2 = std::get_if<gpt2_tokens>(&s.tokens)) {
      file("data.text.tokens.gpt2.vocabulary", gpt2->vocabulary);
      file("data.text.tokens.gpt2.merges", gpt2->merges);
    }
    if (auto* const saved = std::get_if<saved_tokens>(&s.tokens))
      file("data.text.tokens.file.file", saved->file);
  }
  void operator()(series_source& s) const { file("data.series.file", s.file); }
  void operator()(images_source& s) const {
    folder("data.images.folder", s.folder);
    folder("data.images.test_folder", s.test_folder);
    file("data.images.words", s.words);
  }
  void operator()(audio_source& s) const {
    folder("data.audio.folder", s.folder);
    folder("data.audio.test_folder", s.test_folder);
  }
  void operator()(records_source& s) const {
    for (std::string& path : s.files) file("data.records.files", path);
    for (std::string& path : s.test_files) file("data.records.test_files", path);
    file("data.records.words", s.words);
    folder("data.records.cache", s.cache);
  }
};

/// Calls visit(kind, field, path) for each path of a run_document that is set.
template <class Document, class Visit>
void for_each_path(Document& run, Visit const& visit) {
  data_paths<Visit> const paths{visit};
  std::visit(paths, run.data);
  paths.file("network.model", run.network.model);
  paths.file("network.weights", run.network.weights);
  paths.file("network.names", run.network.names);
  if (run.network.imported) {
    paths.file("network.import.file", run.network.imported->file);
    paths.file("network.import.weights", run.network.imported->weights);
  }
  paths.folder("remote.folder", run.remote.folder);
  auto& output = run.output;
  auto const written = [&](char const* field, std::string& path) {
    if (!path.empty()) visit(path_kind::written, field, path);
  };
  written("output.model", output.model);
  written("output.onnx", output.onnx);
  written("output.tokens", output.tokens);
  written("output.predictions", output.predictions);
  written("output.checkpoints", output.checkpoints);
  written("output.report", output.report);
  written("output.tensorboard", output.tensorboard);
  written("output.html_report", output.html_report);
}

/// Returns the scheme of a remote path, "s3" of "s3://bucket/file"; empty for a path of this host.
inline std::string_view scheme_of(std::string_view path) {
  std::size_t const end = path.find("://");
  if (end == path.npos) return {};
  constexpr std::string_view signs = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-";
  std::string_view const scheme = path.substr(0, end);
  bool const is_name = !scheme.empty() && scheme.find_first_not_of(signs) == scheme.npos && scheme[0] != '-';
  return is_name ? scheme : std::string_view();
}

}  // namespace cohort::detail
