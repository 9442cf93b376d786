// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/configuration/run_document.hpp>
#include <cohort/documents/settings.hpp>
#include <initializer_list>
#include <string>

namespace cohort {
class communicator;
}  // namespace cohort

namespace cohort::documents {

/// A file, or a folder of files, that a run writes; empty: none.
struct output_place {
  std::string path;
  char const* setting;  ///< the flag or field that names it
  bool is_folder = false;
};

/// Returns the folder that must be writable so that the path can be written.
std::string writable_folder(std::string const& path, bool is_folder);

/// Throws usage_error for a place that cannot be written. This check precedes a long run whose results would
/// be lost. Only rank 0 calls it, because only the host of rank 0 needs the folders.
void require_writable(std::initializer_list<output_place> places);

/// Throws usage_error if a run that does not resume would write to a folder with checkpoints.
void require_no_checkpoints(output_place const& checkpoints, bool resumes);

/// Checks on rank 0 that the outputs of a document can be written, as require_writable and
/// require_no_checkpoints do.
void require_outputs(output_settings const& output, communicator const& world);

}  // namespace cohort::documents
