// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/configuration/run_document.hpp>
#include <cohort/documents/settings.hpp>
#include <string>
#include <string_view>

namespace reference_program {

using cohort::documents::usage_error;
using cohort::documents::usage_status;

/// Values of the flags; also holds a program's defaults.
struct options {
  cohort::run_document run{};  ///< values of the flags that set a field of documents; no data and no network
  std::string data{};
  bool preflight = false;
  bool original = false;
  std::string load{};
  int evaluate_every = 0;
  int performance = 0;
  std::string trace{};
  bool profile = false;
  std::string size{};
  int generate = 0;
  std::string words{};
  std::string weights{};
  std::string map{};
  std::string master{};        // --masterIP
  int master_port = 40123;     // --port
  std::string network_mask{};  // --networkMask
  int nodes = 0;               // --numNodes
  std::string features{};
  bool help = false;

  /// The learning rate: the program's default, or the value of a flag.
  double learning_rate() const { return run.training.optimizer.rule.learning_rate().value(0, 0); }
};

/// A program's texts for --help: one member per flag. A flag whose text is null does not exist.
struct program_text {
  char const* name;                ///< prefix of error messages
  char const* purpose;             ///< first line
  char const* data = nullptr;      ///< text of --data
  char const* learning_rate;       ///< text of --learning-rate
  char const* original = nullptr;  ///< text of --original
  char const* size = nullptr;      ///< text of --size
  char const* sizes[3] = {};       ///< values of --size
  char const* generate = nullptr;  ///< text of --generate
  char const* words = nullptr;     ///< text of --words
  char const* weights = nullptr;   ///< text of --weights; if not null, --map exists, too
  char const* master = nullptr;  ///< text of --masterIP; if not null, Deeplearning4j's other flags exist, too
  char const* features = nullptr;  ///< text of --features
  char const* flags = nullptr;     ///< names of the flags that exist, each between spaces; null: all
};

/// Parses the flags. Flags of a strategy that is not selected are checked, and have no effect. `original`:
/// the settings that --original selects. Without --max-bytes, COHORT_MAX_BYTES sets the limit.
///
/// Errors    usage_error.
options parse(program_text const& text, options const& defaults, cohort::training_settings const& original,
              int argc, char** argv);

/// Returns the help text. Defaults and allowed values are read from the field tables of documents.
std::string help_of(program_text const& text, options const& defaults);

}  // namespace reference_program
