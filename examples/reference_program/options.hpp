// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace reference_program {

/// Values of the flags; also holds a program's defaults.
struct options {
  std::string data{};
  int ranks = 1;
  int workers = 0;  // 0: 1, or calibrated with --tune if --threads is not given either
  int threads = 0;  // as workers
  bool tune = false;
  bool recompute = false;
  std::string communicator = "auto";
  bool preflight = false;
  std::string strategy = "auto";
  std::string wire = "f32";
  bool overlap_next_forward = false;
  int every = 5;
  std::string outer = "plain";
  bool overlap = false;
  double density = 1e-2;
  double threshold = 0;  // of --strategy sharing; 0: by density
  std::string share = "gradient";
  int staleness = 0;  // negative: unbounded
  int warm_up = 0;
  std::string group = "process";
  int batch = 32;
  int epochs = 5;
  double learning_rate = 0;
  std::string backend = "auto";
  std::optional<std::size_t> max_bytes{};  // of training_settings; without a value: 0
  std::uint64_t seed = 123;
  bool original = false;
  std::string save{};
  std::string load{};
  std::string checkpoints{};
  std::int64_t save_every = 0;
  int keep = 3;
  bool resume = false;
  double deadline = 120;
  double heartbeat = 10;
  std::string json{};
  std::int64_t evaluate_every = 0;
  std::int64_t performance = 0;
  std::string trace{};
  std::string tensorboard{};
  std::string html_report{};
  bool profile = false;
  std::string size{};
  int generate = 0;
  std::string words{};
  std::string weights{};
  std::string map{};
  std::string master{};  // --masterIP
  std::string features{};
  bool help = false;
};

/// A program's texts for --help. A flag whose text is null does not exist.
struct program_text {
  char const* name;                ///< prefix of error messages
  char const* purpose;             ///< first line
  char const* data = nullptr;      ///< of --data
  char const* learning_rate;       ///< of --learning-rate
  char const* original = nullptr;  ///< of --original
  char const* size = nullptr;      ///< of --size
  char const* sizes[3] = {};       ///< values of --size; the first is the default
  char const* generate = nullptr;  ///< of --generate
  char const* words = nullptr;     ///< of --words
  char const* weights = nullptr;   ///< of --weights; --map exists if it is not null
  bool cookbook = false;           ///< --dataPath and --masterIP exist
  char const* features = nullptr;  ///< of --features
  char const* flags = nullptr;     ///< names of the flags that exist, each between spaces; null: all
};

/// Exit status of a program whose flags are invalid.
inline constexpr int usage_status = 2;

/// Thrown for invalid flags. The message is one sentence; the exit status is usage_status.
struct usage_error final : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Parses a number of bytes: an integer, or an integer with the unit K, M, G or T, which are powers of 1024:
/// "512M" is 536870912. `setting` is the name of the flag or variable in messages.
///
/// Errors    usage_error.
std::size_t bytes_of(std::string_view setting, std::string_view text);

/// The environment variable that limits the memory of training.
inline constexpr char const* max_bytes_variable = "COHORT_MAX_BYTES";

/// Parses the flags.  `learning_rate` is 0 if no flag sets it. Without --max-bytes, `max_bytes` is the value
/// of COHORT_MAX_BYTES.
///
/// Errors    usage_error.
options parse(program_text const& text, options const& defaults, int argc, char** argv);

std::string help_of(program_text const& text, options const& defaults);

}  // namespace reference_program
