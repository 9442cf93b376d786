// SPDX-License-Identifier: Apache-2.0
// Stubs for a program without the component documents: each command that trains or applies networks
// prints an error and fails.
#include <cstdio>
#include "commands.hpp"

namespace cohort_program {

namespace {

int refuse(char const* name) {
  std::fprintf(stderr,
               "cohort %s: expected a program that was built with the component documents, got one "
               "without it, because zlib is missing: run cmake/setup.sh and build again\n",
               name);
  return 2;  // as an invalid command
}

}  // namespace

int train_command(int, char** words) { return refuse(words[0]); }
int caffe_command(int, char** words) { return refuse(words[0]); }
int check_command(int, char** words) { return refuse(words[0]); }
int tune_command(int, char** words) { return refuse(words[0]); }
int evaluate_command(int, char** words) { return refuse(words[0]); }
int predict_command(int, char** words) { return refuse(words[0]); }
int features_command(int, char** words) { return refuse(words[0]); }
int describe_command(int, char** words) { return refuse(words[0]); }
int import_command(int, char** words) { return refuse(words[0]); }
int export_command(int, char** words) { return refuse(words[0]); }

}  // namespace cohort_program
