// SPDX-License-Identifier: Apache-2.0
#pragma once
// The words of the commands that read a run document.
#include <cohort/configuration/run_document.hpp>
#include <cohort/documents/settings.hpp>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort_program {

using cohort::documents::usage_error;

/// A flag of a command.
struct command_flag {
  std::string name;  ///< with dashes
  bool has_value = true;
};

/// A flag that was given, and its value.
struct given_flag {
  std::string name, value;
};

/// The words of a command: flags, and one word that is not a flag, the file.
///
/// Errors    usage_error.
class command_words {
 public:
  command_words(int count, char** words, std::vector<command_flag> const& flags);

  /// The word that is not a flag; empty if there is none.
  std::string const& file() const { return file_; }
  /// The flags in the given order.
  std::vector<given_flag> const& flags() const { return flags_; }
  bool has(std::string_view flag) const;
  /// Returns the last value of a flag; empty if the flag was not given.
  std::string value(std::string_view flag) const;
  /// Returns the value of a flag that the command needs. `contents`: what the flag contains, for the error.
  std::string required(std::string_view flag, char const* contents) const;

 private:
  std::string file_;
  std::vector<given_flag> flags_;
};

/// Returns whether the name of a file is that of a document.
bool is_document(std::string_view path);

/// Throws usage_error if a file that a command writes is one of the files that it reads. `flag`: the flag of
/// the written file.
void require_other_file(std::string const& flag, std::string const& written,
                        std::initializer_list<std::string> read);

/// Throws usage_error unless the document names a model.
void require_model(cohort::run_document const& run);

/// The help text of the flags and variables that all commands on documents accept.
extern char const* const document_flags_help;

/// One field to set, and the source of the value.
struct given_setting {
  std::string path, value, origin;
};

/// The words of a command on a document. Some flags set fields of the document.
class document_call : public command_words {
 public:
  /// `flags`: those of this command only.
  document_call(int count, char** words, std::vector<command_flag> flags);

  /// Returns the file's document, overridden by the environment, then by the flags.
  ///
  /// Errors    usage_error, and those of run_document.
  cohort::run_document document() const;
  /// Returns a document, overridden in the same way. `except`: prefix of paths that are not set.
  cohort::run_document document(cohort::run_document run, std::string_view except) const;
  /// Returns the fields that the environment and then the flags set, in this order.
  std::vector<given_setting> settings() const;
};

/// Calls `work`, and prints its errors after "cohort NAME: ". Returns its exit status, or that of the error:
/// 2 for usage_error, that of a communicator_error, or 1. `explain`: changes the texts of errors other than
/// usage_error; null: nothing.
int guarded(std::string_view name, std::function<int()> const& work,
            std::function<std::string(std::string_view)> const& explain = {});

/// A command that reads a document.
struct document_command {
  char const* help;                   ///< without document_flags_help, which follows it
  std::vector<command_flag> flags{};  ///< of this command only
  std::function<int(document_call const&, cohort::run_document const&)> work;
  /// Returns the document of a call; null: document_call::document.
  std::function<cohort::run_document(document_call const&)> document{};
  /// Phrases of the library's messages, and what users of the command read in their place.
  std::vector<std::pair<std::string, std::string>> phrases{};
};

/// Reads the flags and the document, and calls the command's work. Prints errors. Returns the exit status: 2
/// for an invalid document or flag, otherwise that of guarded.
int run_document_command(int count, char** words, document_command const& command);

}  // namespace cohort_program
