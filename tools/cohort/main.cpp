// SPDX-License-Identifier: Apache-2.0
// Trains and applies networks without C++: cohort --help
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cohort/error/detail/nearest_name.hpp>
#include <cohort/version.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>
#include "commands.hpp"

namespace {

struct subcommand {
  std::string_view name;
  char const* summary;
  int (*call)(int, char**);
};

constexpr subcommand subcommands[]{
    {"train", "trains the network that a document describes", cohort_program::train_command},
    {"caffe", "trains, tests and extracts features with the command line of CaffeOnSpark",
     cohort_program::caffe_command},
    {"check", "checks hosts, network, settings, memory and disk of a run, without training",
     cohort_program::check_command},
    {"tune", "searches hyperparameters: trains a document with different values of its fields",
     cohort_program::tune_command},
    {"evaluate", "evaluates a model on the test set of a document", cohort_program::evaluate_command},
    {"predict", "writes the outputs of a model for the data of a document", cohort_program::predict_command},
    {"features", "writes the outputs of inner layers of a model", cohort_program::features_command},
    {"describe", "prints the network of a document or model, and the memory of its training",
     cohort_program::describe_command},
    {"import", "writes a model of ONNX, Keras, Caffe or Deeplearning4j as a model file",
     cohort_program::import_command},
    {"export", "writes a model as ONNX, safetensors or .npz", cohort_program::export_command},
    {"run", "starts the ranks of a program on this host or, by ssh, on several", cohort_program::run_command},
    {"data", "indexes, shows, verifies, converts and packs files of data", cohort_program::data_command},
};

constexpr int usage_status = 2;

#ifdef COHORT_PROGRAM_WITH_MPI
/// Replaces this program, which has no MPI, by the program with MPI if a launcher of MPI has started it.
void continue_with_mpi(char** words) {
  if (std::getenv("COHORT_JOIN")) return;  // ranks over TCP
  bool is_rank = false;
  for (char const* const name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"})
    is_rank = is_rank || std::getenv(name);
  if (!is_rank) return;
  std::filesystem::path const folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  std::string const program = folder / COHORT_PROGRAM_WITH_MPI;
  ::execv(program.c_str(), words);
  std::fprintf(stderr, "cohort: cannot start the program with MPI (%s): %s\n", program.c_str(),
               std::strerror(errno));
  std::exit(1);
}
#endif

void print_help() {
  std::printf(
      "Trains and applies neural networks that documents describe.\n\n"
      "  cohort COMMAND [flags]\n"
      "  cohort COMMAND --help   prints the flags of a command\n"
      "  cohort --version        prints the version\n\n");
  for (subcommand const& entry : subcommands)
    std::printf("  %-9s%s\n", std::string(entry.name).c_str(), entry.summary);
}

}  // namespace

int main(int argc, char** argv) {
#ifdef COHORT_PROGRAM_WITH_MPI
  continue_with_mpi(argv);
#endif
  // A parent that ignores SIGCHLD passes this on, and the exit statuses of started processes would be lost.
  std::signal(SIGCHLD, SIG_DFL);
  std::string_view const word = argc > 1 ? argv[1] : "";
  if (word == "--help" || word == "-h") return print_help(), 0;
  if (word == "--version") {
    std::printf("cohort %s\n", std::string(cohort::library_version).c_str());
    return 0;
  }
  if (auto const* const found = std::ranges::find(subcommands, word, &subcommand::name);
      found != std::end(subcommands))
    return found->call(argc - 1, argv + 1);
  std::vector<std::string_view> names;
  for (subcommand const& entry : subcommands) names.push_back(entry.name);
  std::fprintf(stderr, "cohort: expected a command, one of %s; got %s; --help describes them\n",
               cohort::detail::names_and_nearest(word, names).c_str(),
               word.empty() ? "nothing" : ("'" + std::string(word) + "'").c_str());
  return usage_status;
}
