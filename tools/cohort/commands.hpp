// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cohort_program {

/// The subcommands. words[0] is the subcommand's name; the others are its flags and arguments. Errors are
/// printed. Returns the exit status of the program.
int train_command(int count, char** words);
int check_command(int count, char** words);
int tune_command(int count, char** words);
int caffe_command(int count, char** words);
int evaluate_command(int count, char** words);
int predict_command(int count, char** words);
int features_command(int count, char** words);
int describe_command(int count, char** words);
int import_command(int count, char** words);
int export_command(int count, char** words);
int run_command(int count, char** words);
int data_command(int count, char** words);

}  // namespace cohort_program
