// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace cohort {

/// Packs all files below a folder, as they are and `n` an archive, into out/batch-000000.zip, out/batch-000001.zip, …: a
/// few large files are read faster and moved more easily than many small ones. The archives' paths.
///
/// Order     an order drawn from `seed`, so that an archive has files of many classes. Inside they keep their names relative
///           to the folder; hidden files are left out. By `threads` threads (0: one a processor); one packing into
///           `out` at a time.
/// After     every archive is whole and on the disk. If it was interrupted, the same call goes on: archives that are
///           there are compared by names and sizes, and kept.
/// Moves     each byte once, through a fixed amount of memory.
/// Errors    setting_error for n < 1 or threads < 0; file_error for what cannot be read or written, and a folder without
///           files; data_error naming an archive in `out` that belongs to another packing.
/// Exact     the same files, n and seed give the same bytes.
std::vector<std::string> pack_files(std::string const& folder, std::string const& out, int n,
                                    std::uint64_t seed, int threads = 0);

}  // namespace cohort

#ifndef COHORT_IMAGE_COMPILED
#include <cohort/image/impl/pack_files.ipp>
#endif
