// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/checkpoint/checkpoint_directory.hpp>
#include <cohort/checkpoint/checkpoint_reader.hpp>
#include <cohort/checkpoint/detail/manifest.hpp>
#include <cohort/checkpoint/detail/process_identity.hpp>
#include <cohort/communicator/all_or_none.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/io/folder.hpp>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

namespace cohort::detail {

/// Returns whether a checkpoint may contain a file of this name. Includes temporary names of files that are
/// being written.
bool is_checkpoint_file(std::string_view name) {
  constexpr std::string_view digits = "0123456789", unfinished = ".partial-";
  if (std::size_t const at = name.rfind(unfinished); at != std::string_view::npos) {
    if (name.find_first_not_of("0123456789-", at + unfinished.size()) != std::string_view::npos) return false;
    name = name.substr(0, at);
  }
  if (name == manifest_name || name == shared_name) return true;
  constexpr std::string_view prefix = "rank-", suffix = ".safetensors";
  if (!name.starts_with(prefix) || !name.ends_with(suffix) || name.size() <= prefix.size() + suffix.size())
    return false;
  name.remove_prefix(prefix.size());
  name.remove_suffix(suffix.size());
  return name.find_first_not_of(digits) == std::string_view::npos;
}

/// Removes a checkpoint. If its folder contains other files, these files and the folder remain.
void remove_checkpoint(std::string const& path) {
  if (!io::is_folder(path)) return;
  // The manifest is removed first, so that a partly removed checkpoint counts as unfinished.
  io::remove_file(path + '/' + std::string(manifest_name));
  for (std::string const& name : io::list_folder(path).value_or(std::vector<std::string>()))
    if (is_checkpoint_file(name)) io::remove_file(path + '/' + name);
  io::remove_empty_folder(path);
}

/// Rank 0's part of saving: all changes of the directory except the files of the ranks.
class checkpoint_transaction {
 public:
  checkpoint_transaction(std::string directory, std::int64_t step)
      : directory_(std::move(directory)),
        path_(directory_ + '/' + checkpoint_name(step)),
        replaced_(path_ + std::string(replaced_suffix)),
        step_(step) {}

  std::string const& path() const { return path_; }

  /// Creates an empty folder for the checkpoint, synchronised to disk. A finished checkpoint of the same step
  /// is kept under another name.
  ///
  /// Errors    file_error if the newest complete checkpoint was saved by another process, which still runs on
  ///           this host.
  void begin() {
    io::make_folder(directory_);
    check_owner();
    if (io::size_of_file(path_ + '/' + std::string(manifest_name))) {
      remove_checkpoint(replaced_);
      io::rename_folder(path_, replaced_);
    } else {
      remove_checkpoint(path_);
    }
    started_ = true;
    io::make_folder(path_);
    io::synchronise_folder(directory_);
  }

  /// Writes the manifest, which makes the checkpoint valid.
  ///
  /// Errors    file_error if rank 0 does not see a rank's file with its full size.
  void commit(checkpoint_manifest const& manifest) const {
    require_visible(shared_name, manifest.shared, 0);
    for (std::size_t rank = 0; rank < manifest.ranks.size(); ++rank)
      require_visible(rank_name(rank), manifest.ranks[rank], rank);
    io::write_file(path_ + '/' + std::string(manifest_name), to_json(manifest));
  }

  /// Restores the directory to its state before begin(), as far as the file system permits.
  void roll_back() const noexcept {
    if (!started_) return;
    try {
      remove_checkpoint(path_);
      if (io::is_folder(replaced_)) io::rename_folder(replaced_, path_);
    } catch (std::exception const&) {
      // Readers accept both names, and the next begin() or remove_old() repeats the removal or renaming.
    }
  }

  /// Removes all but the newest `keep` checkpoints up to this step. Later steps belong to another run. A
  /// damaged checkpoint does not count towards `keep`; such a checkpoint is removed only if `keep` newer
  /// checkpoints are complete.
  void remove_old(int keep) const {
    int kept = 0;
    std::int64_t last = -1;
    for (checkpoint_entry const& entry : list_checkpoints(directory_)) {
      if (entry.step > step_) continue;
      bool const counts = entry.finished && entry.step != last && kept < keep;
      if (counts && !read_complete(entry.name)) continue;
      if (counts) {
        ++kept;
        last = entry.step;
        if (entry.replaced)
          io::rename_folder(directory_ + '/' + entry.name, directory_ + '/' + checkpoint_name(last));
      } else {
        remove_checkpoint(directory_ + '/' + entry.name);
      }
    }
  }

 private:
  /// Opens a checkpoint. Returns nullopt if the manifest is invalid or states a wrong file size.
  std::optional<checkpoint_reader> read_complete(std::string const& name) const try {
    return checkpoint_reader(directory_ + '/' + name);
  } catch (error const&) {
    return std::nullopt;
  }

  void check_owner() const {
    for (std::string const& name : finished_checkpoints(directory_)) {
      std::optional<checkpoint_reader> const newest = read_complete(name);
      if (!newest) continue;
      std::string const& writer = newest->manifest().writer;
      if (writer != process_identity() && is_running_here(writer))
        throw file_error({.what = "another run saves checkpoints to this directory",
                          .where = directory_,
                          .expected = "a separate directory for each run",
                          .got = {name, " of ", writer, ", which still runs"}});
      return;
    }
  }

  void require_visible(std::string_view name, checkpoint_file const& wanted, std::size_t rank) const {
    std::string const path = path_ + '/' + std::string(name);
    auto const bytes = io::size_of_file(path);
    if (bytes != wanted.bytes)
      throw file_error({.what = {"rank 0 does not see the complete file of rank ", rank},
                        .where = path,
                        .expected = "a directory that all ranks share",
                        .got = bytes ? std::to_string(*bytes) + " bytes" : "no such file"});
  }

  std::string directory_;
  std::string path_;
  std::string replaced_;
  std::int64_t step_;
  bool started_ = false;  // begin() has changed the directory
};

/// Size and hash of the file that a rank has written, as bytes.
std::string bytes_of_file(checkpoint_file const& file) {
  return {reinterpret_cast<char const*>(&file), sizeof file};
}
checkpoint_file file_from(std::string const& bytes) {
  checkpoint_file file;
  std::memcpy(&file, bytes.data(), std::min(bytes.size(), sizeof file));
  return file;
}

/// Returns size and hash of a file.
checkpoint_file written_file(std::string const& path, std::uint64_t hash) {
  return {io::size_of_file(path).value_or(0), hash};
}

/// Writes the file of this rank.
///
/// Before    rank 0 has called begin(); `begun` is the name of the checkpoint.
checkpoint_file write_rank_file(std::string const& path, std::string const& begun, int rank,
                                checkpoint_content const& content) {
  if (std::string const mine = checkpoint_name(content.position.step); mine != begun)
    throw setting_error({.what = "this rank is at another step than rank 0", .expected = begun, .got = mine});
  if (!io::is_folder(path))
    throw file_error({.what = "this rank does not see the folder that rank 0 created",
                      .where = path,
                      .expected = "a directory that all ranks share",
                      .got = "no such folder"});
  if (content.shared) check_model(*content.shared);  // before the first rank sends its parts
  if (rank == 0 && !content.shared)
    throw setting_error({.what = "rank 0 has no shared content to save",
                         .where = path,
                         .expected = "a value in checkpoint_content::shared on rank 0"});
  std::string const file = path + '/' + rank_name(static_cast<std::size_t>(rank));
  return written_file(file, save_model(file, content.rank_local));
}

}  // namespace cohort::detail

namespace cohort {

std::string save_checkpoint(communicator& world, std::string const& directory,
                            checkpoint_content const& content, int keep) {
  if (keep < 1)
    throw setting_error(
        {.what = "no checkpoint would be kept", .where = "keep", .expected = "at least 1", .got = {keep}});
  detail::checkpoint_transaction transaction(directory, content.position.step);
  bool const first = world.rank() == 0;
  auto const on_all_ranks = [&](auto action) {
    shared_outcome outcome = outcome_of_all(world, "save_checkpoint", action);
    if (outcome.trouble.empty()) return std::move(outcome.texts);
    if (first) transaction.roll_back();
    throw file_error({.what = "cannot save the checkpoint", .where = directory, .got = outcome.trouble});
  };

  auto const begun = on_all_ranks([&] {
    if (first) transaction.begin();
    return detail::checkpoint_name(content.position.step);
  });
  auto const written = on_all_ranks([&] {
    return detail::bytes_of_file(
        detail::write_rank_file(transaction.path(), begun[0], world.rank(), content));
  });
  on_all_ranks([&]() -> std::string {
    if (!first) {
      if (content.shared) detail::save_model_of_ranks(world, std::nullopt, *content.shared);
      return "";
    }
    detail::checkpoint_manifest manifest{.position = content.position,
                                         .network_hash = content.rank_local.network_hash(),
                                         .settings_hash = content.settings_hash,
                                         .seed = content.seed,
                                         .writer = detail::process_identity()};
    std::string const file = transaction.path() + '/' + std::string(detail::shared_name);
    manifest.shared = detail::written_file(file, detail::save_model_of_ranks(world, file, *content.shared));
    for (std::string const& bytes : written) manifest.ranks.push_back(detail::file_from(bytes));
    transaction.commit(manifest);
    return "";
  });
  if (first) {
    try {
      transaction.remove_old(keep);
    } catch (file_error const& refused) {
      if (world.settings().log) world.settings().log(refused.what());
    }
  }
  return transaction.path();
}

}  // namespace cohort
