// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace cohort {

namespace detail {

/// Host of a rank and the files that this rank passed to host_files.
struct listed_files {
  std::string host;
  std::vector<std::string> files;
};

/// Returns the files that host_files assigns to a rank.
std::vector<std::string> host_files_of(std::size_t rank, std::span<listed_files const> ranks);

}  // namespace detail

/// For files that are distributed over hosts: divides the files on each host among the ranks of that host.
///
///     record_set const mine(host_files(numbered_paths("/local/train-{0..146}.tar"), world), webdataset());
///     run.fit(image_records(mine, settings), {.sharding = sharding::local});
///
/// Ranks are on the same host if the host name and the boot ID are equal. Containers count as separate hosts.
///
/// Parameters  `files`: the files on this host, the same list on all ranks of the host.
/// Order     collective. The k-th of the n ranks on a host gets the files k, k + n, k + 2n, ….
/// Errors    setting_error, on every rank, if the ranks of a host pass different files, or if a host has
///           fewer files than ranks.
std::vector<std::string> host_files(std::vector<std::string> const& files, communicator& world);

}  // namespace cohort
