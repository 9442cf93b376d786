// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/error/exceptions.hpp>
#include <cohort/keras.hpp>
#include <string>
#include <vector>

/// Configurations of Keras as test data.
namespace keras_models {

/// A layer of a model: `config` without its name, `inbound` as in files.
inline std::string layer_json(std::string const& name, std::string const& class_name,
                              std::string const& config, std::string const& inbound = {}) {
  return R"({"class_name": ")" + class_name + R"(", "config": {"name": ")" + name + '"'
         + (config.empty() ? "" : ", " + config) + "}"
         + (inbound.empty() ? "" : R"(, "inbound_nodes": )" + inbound) + '}';
}
inline std::string input_json(std::string const& name, std::string const& shape) {
  return R"({"class_name": "InputLayer", "config": {"name": ")" + name + R"(", "batch_shape": )" + shape
         + "}}";
}
/// Calls of a layer with one tensor each: "a", "b" → [[["a",0,0,{}]],[["b",0,0,{}]]].
inline std::string calls(std::vector<std::string> const& tensors) {
  std::string made;
  for (std::string const& one : tensors) {
    std::string const call = one.find('/') == std::string::npos ? "0" : one.substr(one.find('/') + 1);
    made += (made.empty() ? "" : ",") + std::string("[[\"") + one.substr(0, one.find('/')) + "\"," + call
            + ",0,{}]]";
  }
  return '[' + made + ']';
}
inline std::string joined(std::vector<std::string> const& parts) {
  std::string made;
  for (std::string const& one : parts) made += (made.empty() ? "" : ",") + one;
  return made;
}
inline std::string sequential(std::vector<std::string> const& layers, std::string const& rest = {}) {
  return R"({"class_name": "Sequential", "keras_version": "3.15.0", "config": {"name": "s", "layers": [)"
         + joined(layers) + "]}" + rest + '}';
}
inline std::string functional(std::vector<std::string> const& layers, std::string const& inputs,
                              std::string const& outputs, std::string const& rest = {}) {
  return R"({"class_name": "Functional", "keras_version": "3.15.0", "config": {"name": "f", "layers": [)"
         + joined(layers) + R"(], "input_layers": )" + inputs + R"(, "output_layers": )" + outputs + "}"
         + rest + '}';
}

/// Returns the message of an importer's error without its last part, the remedy. Checks that all parts exist.
inline std::string without_remedy(std::string const& message) {
  if (!message.starts_with("cannot import the Keras model: ")) return message;
  std::size_t const expected = message.find("): expected "), got = message.find(", got ", expected),
                    remedy = message.rfind("; ");
  bool const is_whole = expected != std::string::npos && got != std::string::npos
                        && remedy != std::string::npos && remedy > got && remedy + 10 < message.size();
  return is_whole ? message.substr(0, remedy) : "a part is missing: " + message;
}

/// The message of the error without the remedy; "imported" if there is none.
inline std::string config_refusal(std::string const& config, cohort::keras_options const& how = {}) {
  try {
    cohort::from_keras_config(config, how);
    return "imported";
  } catch (cohort::error const& problem) {
    return without_remedy(problem.what());
  }
}
inline std::string config_message(std::string const& what, std::string const& where,
                                  std::string const& more = {}) {
  return "cannot import the Keras model: " + what + " (Keras configuration" + where + ')' + more;
}

}  // namespace keras_models
