// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/checkpoint/training_position.hpp>
#include <cohort/detail/build_check.hpp>
#include <cohort/version.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cohort::detail {

/// Size and hash of one file of a checkpoint.
///
/// Units     `content_hash`: hash of metadata and tensors, as stored in the file itself.
struct checkpoint_file {
  std::uint64_t bytes = 0;
  std::uint64_t content_hash = 0;
  constexpr bool operator==(checkpoint_file const&) const = default;
};

/// Lists the files of a checkpoint and identifies the run that wrote it.
struct checkpoint_manifest {
  std::string library_version{cohort::library_version};
  training_position position{};
  std::uint64_t network_hash = 0;
  std::uint64_t settings_hash = 0;
  std::uint64_t seed = 0;  ///< seed of data order, masks and initial parameters
  std::string writer{};    ///< the process that saved: see detail::process_identity
  checkpoint_file shared{};
  std::vector<checkpoint_file> ranks{};  ///< the file of each rank
  bool operator==(checkpoint_manifest const&) const = default;
};

inline constexpr std::string_view manifest_name = "manifest.json";
inline constexpr std::string_view shared_name = "shared.safetensors";

/// File name of a rank's content, such as rank-3.safetensors.
std::string rank_name(std::size_t rank);

/// Hash of all fields, stored in the manifest itself.
std::string hash_of_manifest(checkpoint_manifest const& manifest);

/// Serialises a manifest as JSON, one field per line, including a hash of itself.
std::string to_json(checkpoint_manifest const& manifest);

/// Parses a manifest written by to_json.
///
/// Before    the text is untrusted.
/// Errors    data_error with the path of a field that is unknown, missing or modified. The name of a file is
///           determined by its index in the list. Other names are refused, so that the text cannot make a
///           reader open another file.
checkpoint_manifest manifest_from_json(std::string_view text, std::string_view name = "manifest");

}  // namespace cohort::detail
