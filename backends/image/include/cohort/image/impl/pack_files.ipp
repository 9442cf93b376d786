// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <atomic>
#include <cohort/communicator/all_or_none.hpp>
#include <cohort/communicator/detail/work_queue.hpp>
#include <cohort/communicator/require_same.hpp>
#include <cohort/data/class_folders.hpp>
#include <cohort/data/order.hpp>
#include <cohort/detail/chrono.hpp>
#include <cohort/detail/hash.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/execution/team.hpp>
#include <cohort/image/detail/zip_file.hpp>
#include <cohort/image/pack_files.hpp>
#include <cohort/io/folder.hpp>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <thread>

namespace cohort::detail {

/// Appends the names of all files below folder/inside, sorted. Recurses into folders; a link to a folder is
/// an error.
void append_files_below(std::string const& folder, std::string const& inside,
                        std::vector<std::string>& files) {
  for (std::string const& name : sorted_names_in(folder + '/' + inside)) {
    std::string const path = folder + '/' + inside + name;
    if (io::is_folder(path)) {
      append_files_below(folder, inside + name + '/', files);
    } else if (io::size_of_file(path)) {
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

/// Returns whether `inner` is `outer` or is inside `outer`, with all links resolved. `inner` need not exist.
bool contains_folder(std::string const& outer, std::string const& inner) {
  auto const resolved = [](std::string const& path) {
    std::filesystem::path found = std::filesystem::weakly_canonical(path);
    return (found.has_filename() ? found / "" : found).string();  // ends in a slash
  };
  return resolved(inner).starts_with(resolved(outer));
}

std::string batch_name(std::size_t number) {
  std::string digits = std::to_string(number);
  digits.insert(0, digits.size() < 6 ? 6 - digits.size() : 0, '0');
  return "batch-" + digits + ".zip";
}

/// Returns whether the archive exists. Throws data_error if it exists, but contains other files than `names`.
bool already_packed(std::string const& path, std::string const& folder, std::span<std::string const> names) {
  if (!io::size_of_file(path)) return false;
  std::vector<zip_entry> const entries = zip_file(path).entries();
  auto const same = [&](zip_entry const& entry, std::string const& name) {
    return entry.name == name && io::size_of_file(folder + '/' + name) == entry.size;
  };
  if (!std::equal(entries.begin(), entries.end(), names.begin(), names.end(), same))
    throw data_error({.what = "the output folder contains an archive of another pack_files call",
                      .where = path,
                      .expected = {"the ", names.size(), " files that this folder, n and seed give"},
                      .got = {entries.size(), " other files; choose an empty output folder"}});
  return true;
}

/// The archives that one call of pack_files creates.
class packing {
 public:
  /// Lists the files of all archives.
  packing(std::string const& folder, std::string const& out, int n, std::uint64_t seed, int threads);

  std::size_t size() const { return archives_.size(); }
  std::vector<std::string> const& archives() const { return archives_; }
  std::vector<std::string> const& files() const { return files_; }
  /// Returns the number of archives that are packed at the same time.
  int workers() const;
  /// Creates the output folder, or checks its contents and removes partial archives of an interrupted
  /// packing.
  void prepare() const;
  void pack(std::size_t which) const;

 private:
  std::string folder_;
  std::string out_;
  std::size_t size_;
  int threads_;
  std::vector<std::string> files_;  // files of all archives, in order
  std::vector<std::string> archives_;
};

packing::packing(std::string const& folder, std::string const& out, int n, std::uint64_t seed, int threads)
    : folder_(folder), out_(out), size_(static_cast<std::size_t>(n)), threads_(threads) {
  if (n < 1 || threads < 0)
    throw setting_error({.what = "invalid packing settings",
                         .where = n < 1 ? "n" : "threads",
                         .expected = n < 1 ? "at least 1" : "at least 0",
                         .got = {n < 1 ? n : threads}});
  std::vector<std::string> sorted;
  append_files_below(folder, "", sorted);
  if (sorted.empty())
    throw file_error({.what = "the folder has no files to pack",
                      .where = folder,
                      .expected = "files whose names do not begin with a dot",
                      .got = "none"});
  files_.reserve(sorted.size());
  for (std::int64_t const i : epoch_order(seed, 0, static_cast<std::int64_t>(sorted.size())))
    files_.push_back(sorted[static_cast<std::size_t>(i)]);
  std::size_t const batches = (files_.size() + size_ - 1) / size_;
  for (std::size_t b = 0; b < batches; ++b) archives_.push_back(out + '/' + batch_name(b));
}

int packing::workers() const {
  auto const wanted = static_cast<std::size_t>(threads_);
  std::size_t const most = wanted > 0 ? wanted : std::max(1U, std::thread::hardware_concurrency());
  return static_cast<int>(std::min(most, size()));
}

void packing::prepare() const {
  if (contains_folder(folder_, out_))
    throw setting_error({.what = "the output folder is inside the folder to pack",
                         .where = out_,
                         .expected = {"a folder outside ", folder_},
                         .got = out_});
  io::make_folder(out_);
  for (std::string const& name : sorted_names_in(out_)) {
    if (!name.starts_with("batch-") || name.find(".zip") == std::string::npos) continue;
    if (name.find(".zip.partial") != std::string::npos) {
      io::remove_file(out_ + '/' + name);  // left by an interrupted packing
    } else if (std::find(archives_.begin(), archives_.end(), out_ + '/' + name) == archives_.end()) {
      throw data_error({.what = "the output folder contains an archive of another pack_files call",
                        .where = out_ + '/' + name,
                        .expected = {"names up to ", batch_name(size() - 1)},
                        .got = {name, "; choose an empty output folder"}});
    }
  }
}

void packing::pack(std::size_t which) const {
  std::span<std::string const> const names =
      std::span(files_).subspan(which * size_, std::min(size_, files_.size() - which * size_));
  if (!already_packed(archives_[which], folder_, names)) write_zip(archives_[which], folder_, names);
}

/// Packs this rank's archives. Throws the first error, after all ranks have stopped.
void pack_as_rank(packing const& all, communicator& world) {
  work_queue queue(world, static_cast<std::int64_t>(all.size()));
  std::exception_ptr failure;
  int const workers = all.workers();
  team threads(workers, {.deadline = std::chrono::hours(24)});
  std::vector<std::size_t> items;
  do {
    items.clear();
    while (static_cast<int>(items.size()) < workers) {
      auto const item = queue.next();
      if (!item) break;
      items.push_back(static_cast<std::size_t>(*item));
    }
    try {
      threads.run([&](int w) {
        auto const mine = static_cast<std::size_t>(w);
        if (mine < items.size()) all.pack(items[mine]);
      });
    } catch (...) {
      failure = std::current_exception();
    }
  } while (!failure && static_cast<int>(items.size()) == workers);
  queue.join(failure != nullptr);
  queue.release();
  all_or_none(world, "pack_files", "cannot pack the files", [&] {
    if (failure) std::rethrow_exception(failure);
  });
}

}  // namespace cohort::detail

namespace cohort {

std::vector<std::string> pack_files(std::string const& folder, std::string const& out, int n,
                                    std::uint64_t seed, int threads) {
  detail::packing const all(folder, out, n, seed, threads);
  all.prepare();
  std::atomic<std::size_t> next{0};
  auto const pack = [&](int) {
    try {
      for (std::size_t b = next++; b < all.size(); b = next++) all.pack(b);
    } catch (...) {
      next = all.size();  // stops the other threads
      throw;
    }
  };
  team(all.workers(), {.deadline = std::chrono::hours(24)}).run(pack);
  return all.archives();
}

std::vector<std::string> pack_files(std::string const& folder, std::string const& out, int n,
                                    std::uint64_t seed, communicator& world, int threads) {
  constexpr char const* call = "pack_files";
  std::optional<detail::packing> all;
  all_or_none(world, call, "cannot pack the files", [&] { all.emplace(folder, out, n, seed, threads); });
  std::uint64_t names = detail::fnv1a_offset;
  for (std::string const& one : all->files()) names = detail::fnv1a("/", detail::fnv1a(one, names));
  std::array const facts{
      shared_fact{"files", detail::text_of({all->files().size(), " files, names with the hash ", names})},
      shared_fact{"n", std::to_string(n)}, shared_fact{"seed", std::to_string(seed)},
      shared_fact{"out", out}};
  detail::require_same(world, call, facts);
  all_or_none(world, call, "cannot pack the files", [&] {
    if (world.rank() == 0) all->prepare();
  });
  detail::pack_as_rank(*all, world);
  return all->archives();
}

}  // namespace cohort
