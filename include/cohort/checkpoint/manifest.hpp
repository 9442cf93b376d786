// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/checkpoint/training_position.hpp>
#include <cohort/version.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

/// A file of a checkpoint.
///
/// Units     `content_hash`: of metadata and tensors, as it stands in every model file.
struct checkpoint_file {
  std::uint64_t bytes = 0;
  std::uint64_t content_hash = 0;
  constexpr bool operator==(checkpoint_file const&) const = default;
};

/// What a checkpoint consists of, and of which run it is.
struct checkpoint_manifest {
  std::string library_version{version};
  training_position position{};
  std::uint64_t network_hash = 0;
  std::uint64_t settings_hash = 0;
  std::uint64_t seed = 0;  ///< of the data's order, of masks and initial parameters
  checkpoint_file shared{};
  std::vector<checkpoint_file> ranks{};  ///< the file of each rank
  bool operator==(checkpoint_manifest const&) const = default;
};

namespace detail {

inline constexpr std::string_view manifest_name = "manifest.json";
inline constexpr std::string_view shared_name = "shared.safetensors";

std::string rank_name(std::size_t rank);

std::string seal_of(checkpoint_manifest const& manifest);

}  // namespace detail

/// As JSON, a field a line, with a hash of itself.
std::string to_json(checkpoint_manifest const& manifest);

/// The inverse.
///
/// Before    the text is untrusted.
/// Errors    data_error with the path of what is unknown, missing, or was changed. A file has the name that follows from
///           its place, so none is ever opened that the text alone names.
checkpoint_manifest manifest_from_json(std::string_view text, std::string_view name = "manifest");

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/checkpoint/impl/manifest.ipp>
#endif
