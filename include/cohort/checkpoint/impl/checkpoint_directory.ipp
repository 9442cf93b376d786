// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cohort/checkpoint/checkpoint_directory.hpp>
#include <cohort/checkpoint/checkpoint_reader.hpp>
#include <cohort/checkpoint/detail/manifest.hpp>
#include <cohort/checkpoint/detail/process_identity.hpp>
#include <cohort/checkpoint/safetensors.hpp>
#include <cohort/communicator/all_or_none.hpp>
#include <cohort/detail/hash.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/io/folder.hpp>
#include <cstring>
#include <exception>
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
  checkpoint_transaction(checkpoint_transaction const&) = delete;
  checkpoint_transaction& operator=(checkpoint_transaction const&) = delete;
  ~checkpoint_transaction() {
    if (folder_ >= 0) ::close(folder_);
  }

  std::string const& path() const { return path_; }

  /// Creates an empty folder for the checkpoint, synchronised to disk. A finished checkpoint of the same step
  /// is kept under another name.
  ///
  /// Errors    file_error unless `is_shared` if the newest complete checkpoint was saved by another process,
  ///           which still runs on this host.
  void begin(bool is_shared) {
    io::make_folder(directory_);
    if (!is_shared) check_owner();
    if (io::size_of_file(path_ + '/' + std::string(manifest_name))) {
      remove_checkpoint(replaced_);
      io::rename_folder(path_, replaced_);
      io::synchronise_folder(directory_);  // otherwise the new folder could replace the old one on the disk
    } else {
      remove_checkpoint(path_);
    }
    started_ = true;
    io::make_folder(path_);
    folder_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder_ < 0) refuse_file("cannot open the folder", path_, errno);
    io::synchronise_folder(directory_);
  }

  /// Throws a file_error if another process has removed or replaced the folder that begin() has made: this
  /// process was stopped, and its ranks continue without it.
  void check_folder() const {
    if (!has_own_folder())
      throw file_error({.what = "another process has replaced the folder of the checkpoint", .where = path_});
  }

  /// Writes the manifest, which makes the checkpoint valid.
  ///
  /// Errors    file_error if rank 0 does not see a rank's file with its full size, or check_folder refuses.
  void commit(checkpoint_manifest const& manifest) const {
    check_folder();
    require_visible(shared_name, manifest.shared, 0);
    for (std::size_t rank = 0; rank < manifest.ranks.size(); ++rank)
      require_visible(rank_name(rank), manifest.ranks[rank], rank);
    io::write_file(path_ + '/' + std::string(manifest_name), to_json(manifest));
  }

  /// Restores the directory to its state before begin(), as far as the file system permits.
  void roll_back() const noexcept {
    if (!started_) return;
    try {
      if (io::is_folder(path_) && !has_own_folder()) return;  // of another process
      remove_checkpoint(path_);
      if (io::is_folder(replaced_)) io::rename_folder(replaced_, path_);
    } catch (std::exception const&) {
      // Readers accept both names, and the next begin() or remove_old() repeats the removal or renaming.
    }
  }

  /// Removes all but the newest `keep` checkpoints up to this step, and those whose manifest was written more
  /// than `max_age` before that of this step (0: no limit). The newest complete one is kept at any age. Later
  /// steps belong to another run. A damaged checkpoint does not count towards `keep`; such a checkpoint is
  /// removed only if `keep` newer checkpoints are complete, or for its age.
  void remove_old(int keep, std::chrono::seconds max_age) const {
    int kept = 0;
    std::int64_t last = -1;
    for (checkpoint_entry const& entry : list_checkpoints(directory_)) {
      if (entry.step > step_) continue;
      bool const is_wanted =
          kept == 0 || max_age.count() == 0 || age_of(directory_ + '/' + entry.name) <= max_age;
      bool const counts = entry.finished && entry.step != last && kept < keep && is_wanted;
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

  /// Returns the time between a manifest and that of this step, by the clock of the file system; 0 if it is
  /// unknown.
  std::chrono::seconds age_of(std::string const& path) const {
    auto const written = [](std::string const& folder, struct stat& status) {
      return ::stat((folder + '/' + std::string(manifest_name)).c_str(), &status) == 0;
    };
    struct stat older {
    }, newest{};
    bool const is_known = written(path, older) && written(path_, newest);
    return std::chrono::seconds(is_known ? newest.st_mtim.tv_sec - older.st_mtim.tv_sec : 0);
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

  /// Returns whether the folder with the checkpoint's path is the one that begin() has made.
  bool has_own_folder() const {
    struct stat own {
    }, current{};
    return folder_ >= 0 && ::fstat(folder_, &own) == 0 && ::stat(path_.c_str(), &current) == 0
           && own.st_dev == current.st_dev && own.st_ino == current.st_ino;
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
  int folder_ = -1;       // the folder that begin() has made; open, so that no other folder gets its inode
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

/// Reads a file that was written, and returns its size and hash.
///
/// Errors    data_error if the content hash of the bytes is not `hash`.
checkpoint_file written_file(std::string const& path, std::uint64_t hash,
                             std::function<void()> const& on_progress) {
  if (on_progress) on_progress();
  safetensors const file = safetensors::load(path, [](std::string_view) { return true; });
  reusable_buffer memory;
  std::uint64_t const found = content_hash(file.tensors(), file.metadata(), [&](stored_tensor const& tensor) {
    if (on_progress) on_progress();
    return file.read(tensor, memory);
  });
  if (found != hash)
    throw data_error({.what = "the file that was read back differs from the written one",
                      .where = path,
                      .expected = {"content hash ", hash_text(hash)},
                      .got = hash_text(found)});
  return {io::size_of_file(path).value_or(0), hash};
}

/// Writes the file of this rank.
///
/// Before    rank 0 has called begin(); `begun` is the name of the checkpoint.
checkpoint_file write_rank_file(std::string const& path, std::string const& begun, int rank,
                                checkpoint_content const& content, std::function<void()> const& on_progress) {
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
  return written_file(file, save_model(file, content.rank_local), on_progress);
}

checkpoint_save::checkpoint_save(communicator const& world, checkpoint_target target,
                                 checkpoint_content const& content)
    : target_(std::move(target)), content_(content), rank_(world.rank()), ranks_(world.size()) {
  if (target_.keep < 1)
    throw setting_error({.what = "no checkpoint would be kept",
                         .where = "keep",
                         .expected = "at least 1",
                         .got = {target_.keep}});
  if (target_.max_age.count() < 0)
    throw setting_error({.what = "the age of checkpoints is negative",
                         .where = "max_age",
                         .expected = "at least 0 s",
                         .got = {target_.max_age.count(), " s"}});
  transaction_ = std::make_unique<checkpoint_transaction>(target_.directory, content.position.step);
}

checkpoint_save::~checkpoint_save() = default;

std::string const& checkpoint_save::path() const { return transaction_->path(); }

void checkpoint_save::refuse(std::string trouble) const {
  throw file_error(
      {.what = "cannot save the checkpoint", .where = target_.directory, .got = std::move(trouble)});
}

void checkpoint_save::refuse_rank_0(std::string const& reason) const {
  refuse(ranks_ > 1 ? "rank 0: " + reason : reason);
}

void checkpoint_save::roll_back() const noexcept {
  if (rank_ == 0) transaction_->roll_back();
}

/// Runs an action on all ranks. Returns their texts, or throws on all ranks.
template <class Action>
std::vector<std::string> checkpoint_save::on_all_ranks(communicator& world, Action action) {
  shared_outcome outcome = outcome_of_all(world, "save_checkpoint", action);
  if (outcome.trouble.empty()) return std::move(outcome.texts);
  refuse(std::move(outcome.trouble));
}

void checkpoint_save::create_folder() try {
  if (rank_ == 0) transaction_->begin(target_.is_shared);
} catch (...) {
  failure_ = std::current_exception();
}

void checkpoint_save::begin(communicator& world) {
  begun_ = on_all_ranks(world, [&] {
    if (failure_) std::rethrow_exception(failure_);
    return checkpoint_name(content_.position.step);
  })[0];
}

void checkpoint_save::write_rank_file() try {
  if (rank_ == 0) transaction_->check_folder();
  own_file_ = detail::write_rank_file(path(), begun_, rank_, content_, target_.on_progress);
} catch (...) {
  failure_ = std::current_exception();
}

void checkpoint_save::exchange(communicator& world) {
  auto const written = on_all_ranks(world, [&] {
    if (failure_) std::rethrow_exception(failure_);
    return bytes_of_file(own_file_);
  });
  for (std::string const& bytes : written) files_.push_back(file_from(bytes));
}

void checkpoint_save::finish(communicator* world) {
  bool const is_collected = content_.shared && content_.shared->is_collective();
  if (rank_ != 0) {
    if (is_collected) save_model_of_ranks(*world, std::nullopt, *content_.shared);
    return;
  }
  try {
    try {
      transaction_->check_folder();
    } catch (file_error const&) {
      if (is_collected) save_model_of_ranks(*world, std::nullopt, *content_.shared);  // the others send parts
      throw;
    }
    checkpoint_manifest manifest{.position = content_.position,
                                 .network_hash = content_.rank_local.network_hash(),
                                 .settings_hash = content_.settings_hash,
                                 .seed = content_.seed,
                                 .writer = process_identity(),
                                 .ranks = files_};
    std::string const file = path() + '/' + std::string(shared_name);
    std::uint64_t const hash = is_collected ? save_model_of_ranks(*world, file, *content_.shared)
                                            : save_model(file, *content_.shared);
    manifest.shared = written_file(file, hash, target_.on_progress);
    transaction_->commit(manifest);
  } catch (...) {
    transaction_->roll_back();
    throw;
  }
  try {
    transaction_->remove_old(target_.keep, target_.max_age);
  } catch (file_error const& refused) {
    removal_error_ = refused.what();
  }
}

}  // namespace cohort::detail

namespace cohort {

std::string detail::save_checkpoint(communicator& world, checkpoint_target const& target,
                                    checkpoint_content const& content) {
  checkpoint_save save(world, target, content);
  save.create_folder();
  try {
    save.begin(world);
    save.write_rank_file();
    save.exchange(world);
  } catch (file_error const&) {
    save.roll_back();
    throw;
  }
  std::string const trouble = outcome_of_all(world, "save_checkpoint", [&]() -> std::string {
                                save.finish(&world);
                                return "";
                              }).trouble;
  if (!trouble.empty()) save.refuse(trouble);
  if (sink const& log = world.settings().log; log && !save.removal_error().empty()) log(save.removal_error());
  return save.path();
}

std::string save_checkpoint(communicator& world, std::string const& directory,
                            checkpoint_content const& content, int keep, std::chrono::seconds max_age) {
  return detail::save_checkpoint(world, {directory, keep, max_age}, content);
}

}  // namespace cohort
