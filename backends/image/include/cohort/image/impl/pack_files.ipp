// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cohort/data/order.hpp>
#include <cohort/detail/config.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/execution/team.hpp>
#include <cohort/image/detail/sorted_names.hpp>
#include <cohort/image/detail/zip.hpp>
#include <cohort/image/pack_files.hpp>
#include <cohort/io/detail/folder.hpp>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>
#include <string_view>
#include <thread>

namespace cohort::detail {

/// Appends the names of all files below folder/inside, sorted. Recurses into folders; a link to a folder is
/// an error.
COHORT_IMAGE_INLINE void append_files_below(std::string const& folder, std::string const& inside,
                                            std::vector<std::string>& files) {
  for (std::string const& name : sorted_names_in(folder + '/' + inside)) {
    std::string const path = folder + '/' + inside + name;
    if (is_folder(path)) {
      append_files_below(folder, inside + name + '/', files);
    } else if (size_of_file(path)) {
      files.push_back(inside + name);
    } else {
      throw file_error(
          {.what = "cannot pack this path",
           .where = path,
           .expected = "a file or a folder",
           .got = is_folder_or_link(path) ? "a link to a folder" : "a device, pipe, socket or broken link"});
    }
  }
}

/// Whether `inner` is `outer` or is inside `outer`, with all links resolved.
///
/// Before    both exist.
COHORT_IMAGE_INLINE bool contains_folder(std::string const& outer, std::string const& inner) {
  auto const resolved = [](std::string const& path) {
    std::unique_ptr<char, decltype(&std::free)> const found(::realpath(path.c_str(), nullptr), &std::free);
    return found && found.get() != std::string_view("/") ? std::string(found.get()) + '/' : "/";
  };
  return resolved(inner).starts_with(resolved(outer));
}

COHORT_IMAGE_INLINE std::string batch_name(std::size_t number) {
  std::string digits = std::to_string(number);
  digits.insert(0, digits.size() < 6 ? 6 - digits.size() : 0, '0');
  return "batch-" + digits + ".zip";
}

/// Whether the archive exists. Throws data_error if it exists with other files than these.
COHORT_IMAGE_INLINE bool already_packed(std::string const& path, std::string const& folder,
                                        std::span<std::string const> names) {
  if (!size_of_file(path)) return false;
  std::vector<zip_reader::entry> const entries = zip_reader(path).entries();
  auto const same = [&](zip_reader::entry const& entry, std::string const& name) {
    return entry.name == name && size_of_file(folder + '/' + name) == entry.bytes;
  };
  if (!std::equal(entries.begin(), entries.end(), names.begin(), names.end(), same))
    throw data_error({.what = "the output folder contains an archive of another pack_files call",
                      .where = path,
                      .expected = {"the ", names.size(), " files that this folder, n and seed give"},
                      .got = {entries.size(), " other files; choose an empty output folder"}});
  return true;
}

}  // namespace cohort::detail

namespace cohort {

COHORT_IMAGE_INLINE std::vector<std::string> pack_files(std::string const& folder, std::string const& out,
                                                        int n, std::uint64_t seed, int threads) {
  if (n < 1 || threads < 0)
    throw setting_error({.what = "invalid packing settings",
                         .where = n < 1 ? "n" : "threads",
                         .expected = n < 1 ? "at least 1" : "at least 0",
                         .got = {n < 1 ? n : threads}});
  std::vector<std::string> sorted;
  detail::append_files_below(folder, "", sorted);
  if (sorted.empty())
    throw file_error({.what = "the folder has no files to pack",
                      .where = folder,
                      .expected = "files whose names do not begin with a dot",
                      .got = "none"});
  std::vector<std::string> files;
  files.reserve(sorted.size());
  for (std::int64_t const i : epoch_order(seed, 0, static_cast<std::int64_t>(sorted.size())))
    files.push_back(sorted[static_cast<std::size_t>(i)]);

  auto const size = static_cast<std::size_t>(n);
  std::size_t const batches = (files.size() + size - 1) / size;
  std::vector<std::string> archives;
  for (std::size_t b = 0; b < batches; ++b) archives.push_back(out + '/' + detail::batch_name(b));
  detail::make_folder(out);
  if (detail::contains_folder(folder, out)) {
    detail::remove_empty_folder(out);
    throw setting_error({.what = "the output folder is inside the folder to pack",
                         .where = out,
                         .expected = {"a folder outside ", folder},
                         .got = out});
  }
  for (std::string const& name : detail::sorted_names_in(out)) {
    if (!name.starts_with("batch-") || name.find(".zip") == std::string::npos) continue;
    if (name.find(".zip.partial") != std::string::npos) {
      detail::remove_file(out + '/' + name);  // left by an interrupted packing
    } else if (std::find(archives.begin(), archives.end(), out + '/' + name) == archives.end()) {
      throw data_error({.what = "the output folder contains an archive of another pack_files call",
                        .where = out + '/' + name,
                        .expected = {"names up to ", detail::batch_name(batches - 1)},
                        .got = {name, "; choose an empty output folder"}});
    }
  }

  std::atomic<std::size_t> next{0};
  auto const pack = [&](int) {
    try {
      for (std::size_t b = next++; b < batches; b = next++) {
        std::span<std::string const> const names =
            std::span(files).subspan(b * size, std::min(size, files.size() - b * size));
        if (!detail::already_packed(archives[b], folder, names))
          detail::write_zip(archives[b], folder, names);
      }
    } catch (...) {
      next = batches;  // stops the other threads
      throw;
    }
  };
  auto const wanted = static_cast<std::size_t>(threads);
  std::size_t const workers = wanted > 0 ? wanted : std::max(1U, std::thread::hardware_concurrency());
  team(static_cast<int>(std::min(workers, batches)), {.deadline = std::chrono::hours(24)}).run(pack);
  return archives;
}

}  // namespace cohort
