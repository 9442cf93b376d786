// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/image/detail/implementation.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace cohort {

class communicator;

/// Packs all files below a folder unchanged, `n` per archive, into out/batch-000000.zip,
/// out/batch-000001.zip, …. Returns the archives' paths. A few large files are faster to read and easier to
/// move than many small files.
///
/// Order     `seed` determines a random order of the files, so that an archive has files of many classes.
///           Entries keep their names relative to the folder; hidden files are skipped. Uses `threads`
///           threads (0: one per processor). Only one call may pack into `out` at a time.
/// After     every archive is complete and on disk. After an interruption, the same call resumes: it keeps
///           existing archives whose files have the expected names and sizes.
/// Moves     reads each byte twice and writes it once, through a fixed amount of memory.
/// Errors    setting_error for n < 1, threads < 0, or `out` inside `folder`; file_error for a file that
///           cannot be read or written, and for a folder without files; data_error naming an archive in `out`
///           that belongs to another packing.
/// Exact     the same files, n and seed give the same bytes.
std::vector<std::string> pack_files(std::string const& folder, std::string const& out, int n,
                                    std::uint64_t seed, int threads = 0);

/// Like the overload without `world`, but executed by all ranks of `world` together: each rank repeatedly
/// packs the next archive that no rank has begun. `threads`: per rank.
///
/// Order     collective.
/// Before    all ranks see the same folders. A rank packs `threads` archives within the communicator's
///           deadline.
/// Moves     between ranks: at most 32 bytes per archive, and 16 bytes per second and rank.
/// Errors    as the overload without `world` on the rank where the error occurs; the other ranks throw
///           data_error naming this rank. Complete archives remain. setting_error if the arguments or the
///           names of the files differ between ranks. communicator_error if a rank is lost.
/// Exact     the same bytes as one rank.
std::vector<std::string> pack_files(std::string const& folder, std::string const& out, int n,
                                    std::uint64_t seed, communicator& world, int threads = 0);

}  // namespace cohort
