// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>

namespace reference_program {

/// What the flags say; a program's own defaults are written in one of these.
struct options {
  std::string data{};
  int ranks = 1;
  int workers = 0;  // 0: 1, or by calibration where it tunes and threads are not said either
  int threads = 0;  // likewise
  bool tune = false;
  bool recompute = false;
  std::string communicator = "auto";
  std::string strategy = "auto";
  std::string wire = "f32";
  bool overlap_next_forward = false;
  int every = 5;
  std::string outer = "plain";
  bool overlap = false;
  double density = 1e-3;
  double threshold = 0;  // of --strategy sharing; 0: by the density
  std::string share = "gradient";
  int staleness = 0;  // below 0: unbounded
  int warm_up = 0;
  std::string group = "process";
  int batch = 32;
  int epochs = 5;
  double rate = 0;
  std::string backend = "auto";
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
  bool profile = false;
  bool help = false;
};

/// What a program says of itself in --help. A flag without words is none of its flags.
struct program_text {
  char const* name;                ///< as in error messages
  char const* purpose;             ///< the first line
  char const* data = nullptr;      ///< of --data
  char const* rate;                ///< of --rate
  char const* original = nullptr;  ///< of --original
};

/// A flag that cannot be understood: a sentence, and exit status 2.
struct usage_error final : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What was chosen, or a usage_error.  `rate` is 0 where no flag says it.
options parse(program_text const& text, options const& defaults, int argc, char** argv);

std::string help_of(program_text const& text, options const& defaults);

}  // namespace reference_program
