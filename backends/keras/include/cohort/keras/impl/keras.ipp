// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cohort/io/file_reader.hpp>
#include <cohort/io/json.hpp>
#include <cohort/keras.hpp>
#include <cohort/keras/detail/hdf5_file.hpp>
#include <cohort/keras/detail/import_keras.hpp>
#include <cohort/keras/detail/keras_translation.hpp>
#include <cohort/keras/detail/stored_zip.hpp>
#include <memory>
#include <optional>
#include <span>

namespace cohort {

namespace detail::keras_files {

inline keras_version read_version(std::string_view text) {
  keras_version made;
  auto const [after, problem] = std::from_chars(text.data(), text.data() + text.size(), made.major);
  if (problem == std::errc() && after < text.data() + text.size() && *after == '.')
    std::from_chars(after + 1, text.data() + text.size(), made.minor);
  return made;
}

/// Guesses the version from a configuration: Keras 3 writes modules; Keras 1 has other field names.
inline keras_version guess_version(io::json_value model) {
  if (model.find("module")) return {3, 0};
  std::vector<io::json_value> pending{model};
  keras_version made{2, 3};
  while (!pending.empty()) {
    io::json_value const at = pending.back();
    pending.pop_back();
    if (at.kind() != io::json_kind::object && at.kind() != io::json_kind::array) continue;
    if (at.kind() == io::json_kind::object) {
      if (at.find("nb_filter") || at.find("border_mode") || at.find("inner_activation")) return {1, 0};
      auto const name = at.find("class_name");
      if (name && name->kind() == io::json_kind::string && name->string() == "Dense") {
        auto const config = at.find("config");
        if (config && config->kind() == io::json_kind::object && config->find("output_dim")) return {1, 0};
      }
    }
    for (io::json_value const one : at.items()) pending.push_back(one);
  }
  return made;
}

inline std::string_view text_of(std::span<std::byte const> bytes) {
  return {reinterpret_cast<char const*>(bytes.data()), bytes.size()};
}

/// Throws file_error if the file is missing or too large.
inline void expect_file(std::string const& path, std::size_t max_bytes) {
  io::file_reader(path).expect_at_most(max_bytes);
}

inline imported_model import_config(std::string_view config, keras_options const& how,
                                    std::string const& origin) {
  if (how.weights.empty()) return detail::import_keras(config, origin, how, {}, nullptr, nullptr);
  expect_file(how.weights, how.max_bytes);
  hdf5_file const file(how.weights, how.weights);
  hdf5_weights const weights(file);
  return import_keras(config, origin, how, {}, nullptr, &weights);
}

}  // namespace detail::keras_files

namespace detail {

imported_model import_keras(std::string_view config, std::string const& origin, keras_options const& how,
                            keras_version given, std::string const* training,
                            keras_weight_source const* weights, std::string_view backend) {
  auto const document = io::parse_json(config, origin);
  io::json_value const model = document.root();
  if (given.major == 0)
    if (auto const text = model.find("keras_version"); text && text->kind() == io::json_kind::string)
      given = keras_files::read_version(text->string());
  if (given.major == 0) given = keras_files::guess_version(model);
  if (given.major < 1 || given.major > 3)
    refuse_keras(origin, "the version of Keras is unknown", "1, 2 or 3", std::to_string(given.major),
                 "save the model again with Keras 2 or 3");
  if (auto const named = model.find("backend");
      backend.empty() && named && named->kind() == io::json_kind::string)
    backend = named->string();
  std::optional<io::json_document> training_text;
  std::optional<io::json_value> compile = model.find("compile_config");
  if (training) {
    training_text.emplace(io::parse_json(*training, origin + ", training_config"));
    compile = training_text->root();
  }
  bool const is_theano = given.major < 3 && backend == "theano";
  keras_translation translation(origin, how, given.major, given.minor, is_theano);
  return translation.run(model, compile, weights);
}

imported_model import_keras(hdf5_file const& file, keras_options const& how) {
  auto const config = file.text("/", "model_config"), training = file.text("/", "training_config"),
             version = file.text("/", "keras_version"), backend = file.text("/", "backend");
  if (!config)
    refuse_keras(file.name(), "the file has no model_config: it has weights only", "a file of model.save()",
                 "weights only", "pass the file as keras_options::weights of the configuration .json");
  hdf5_weights const weights(file);
  return import_keras(*config, file.name(), how,
                      version ? keras_files::read_version(*version) : keras_version{},
                      training ? &*training : nullptr, &weights, backend.value_or(""));
}

}  // namespace detail

imported_model from_keras_config(std::string_view json, keras_options const& how, std::string const& origin) {
  return detail::keras_files::import_config(json, how, origin);
}

imported_model load_keras(std::string const& path, keras_options const& how) {
  using namespace detail::keras_files;
  if (path.ends_with(".json")) {
    expect_file(path, how.max_bytes);
    return import_config(io::read_text(path), how, path);
  }
  if (!how.weights.empty())
    detail::refuse_keras(path, "only a configuration .json needs a file of weights",
                         "no keras_options::weights", how.weights, "remove this option");
  if (path.ends_with(".keras")) {
    detail::stored_zip const archive(path, how.max_bytes);
    auto const metadata = io::parse_json(text_of(archive.read("metadata.json")), path + ", metadata.json");
    std::string_view const config = text_of(archive.read("config.json"));
    detail::hdf5_file const file(path + ", model.weights.h5", archive.read("model.weights.h5"));
    detail::hdf5_weights const weights(file);
    return detail::import_keras(config, path, how, read_version(metadata.root().at("keras_version").string()),
                                nullptr, &weights);
  }
  if (path.ends_with(".weights.h5"))
    detail::refuse_keras(path, "a file of weights has no layers", "the model's configuration .json",
                         "a file of weights", "pass the file as keras_options::weights of the configuration");
  if (path.ends_with(".h5") || path.ends_with(".hdf5")) {
    expect_file(path, how.max_bytes);
    return detail::import_keras(detail::hdf5_file(path, path), how);
  }
  detail::refuse_keras(path, "the file's kind is unknown", ".keras, .h5, .hdf5 or .json", "another name",
                       "rename the file, or save the model as .keras");
}

}  // namespace cohort
