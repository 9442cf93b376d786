// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cohort/checkpoint/checkpoint_reader.hpp>
#include <cohort/communicator/all_or_none.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/io/folder.hpp>
#include <filesystem>
#include <system_error>
#include <tuple>
#include <utility>

namespace cohort {

checkpoint_reader::checkpoint_reader(std::string path)
    : path_(std::move(path)),
      manifest_(detail::manifest_from_json(io::read_text(path_of(detail::manifest_name)),
                                           path_of(detail::manifest_name))) {
  check_size(detail::shared_name, manifest_.shared);
  for (std::size_t rank = 0; rank < manifest_.ranks.size(); ++rank)
    check_size(detail::rank_name(rank), manifest_.ranks[rank]);
}

model_file checkpoint_reader::shared() const {
  return checked(model_file::open(path_of(detail::shared_name)), manifest_.shared);
}

model_file checkpoint_reader::shared_on_demand() const {
  return checked(model_file::open_on_demand(path_of(detail::shared_name)), manifest_.shared);
}

model_file checkpoint_reader::rank_file(int rank) const {
  if (rank < 0 || rank >= ranks())
    throw setting_error({.what = "the checkpoint has no file for this rank",
                         .where = path_,
                         .expected = {"0 to ", ranks() - 1},
                         .got = {rank}});
  auto const at = static_cast<std::size_t>(rank);
  return checked(model_file::open(path_of(detail::rank_name(at))), manifest_.ranks[at]);
}

void checkpoint_reader::check(int reader, int readers) const {
  for (int file = reader; file <= ranks(); file += readers)
    file == 0 ? shared_on_demand() : rank_file(file - 1);
}

void checkpoint_reader::check_size(std::string_view name, detail::checkpoint_file const& wanted) const {
  auto const bytes = io::size_of_file(path_of(name));
  if (bytes != wanted.bytes)
    throw data_error({.what = bytes && *bytes < wanted.bytes ? "a file of the checkpoint is truncated"
                                                             : "the checkpoint is damaged",
                      .where = path_of(name),
                      .expected = {wanted.bytes, " bytes"},
                      .got = bytes ? std::to_string(*bytes) + " bytes" : "no such file"});
}

model_file checkpoint_reader::checked(model_file opened, detail::checkpoint_file const& wanted) const {
  safetensors const& file = opened.file();
  auto const found = file.metadata().find("content_hash");
  std::string const hash = found == file.metadata().end() ? "none" : found->second;
  if (hash != detail::hash_text(wanted.content_hash))
    throw data_error({.what = "the checkpoint is damaged",
                      .where = file.name(),
                      .expected = {"content hash ", detail::hash_text(wanted.content_hash)},
                      .got = hash});
  return opened;
}

}  // namespace cohort

namespace cohort::detail {

std::string checkpoint_name(std::int64_t step) {
  std::string digits = std::to_string(step);
  if (digits.size() < 12) digits.insert(0, 12 - digits.size(), '0');
  return "step-" + digits;
}

std::optional<checkpoint_entry> parse_checkpoint_name(std::string const& name) {
  checkpoint_entry entry{.name = name};
  std::string_view plain = name;
  entry.replaced = plain.ends_with(replaced_suffix);
  if (entry.replaced) plain.remove_suffix(replaced_suffix.size());
  if (!plain.starts_with("step-")) return std::nullopt;
  std::string_view const digits = plain.substr(5);
  std::from_chars(digits.data(), digits.data() + digits.size(), entry.step);
  if (entry.step < 0 || checkpoint_name(entry.step) != plain) return std::nullopt;
  return entry;
}

/// Returns whether a checkpoint has an entry of the manifest's name. An entry that cannot be read, such as a
/// folder or a file without permission, belongs to a damaged checkpoint, not to an unfinished one.
bool has_manifest(std::string const& path) {
  std::error_code unreadable;
  auto const found = std::filesystem::symlink_status(path + '/' + std::string(manifest_name), unreadable);
  return found.type() != std::filesystem::file_type::not_found;
}

std::vector<checkpoint_entry> list_checkpoints(std::string const& directory) {
  std::vector<checkpoint_entry> entries;
  for (std::string const& name : io::list_folder(directory).value_or(std::vector<std::string>())) {
    auto entry = parse_checkpoint_name(name);
    std::string const path = directory + '/' + name;
    if (!entry || !io::is_folder(path)) continue;
    entry->finished = has_manifest(path);
    entries.push_back(*std::move(entry));
  }
  std::sort(entries.begin(), entries.end(), [](checkpoint_entry const& a, checkpoint_entry const& b) {
    return std::tuple(-a.step, a.replaced) < std::tuple(-b.step, b.replaced);
  });
  return entries;
}

/// Opens a checkpoint and checks that the folder's name contains the checkpoint's step.
checkpoint_reader open_entry(std::string const& directory, std::string const& name) {
  checkpoint_reader opened(directory + '/' + name);
  if (auto const entry = parse_checkpoint_name(name); entry && entry->step != opened.position().step)
    throw data_error({.what = "the checkpoint is damaged",
                      .where = opened.path(),
                      .expected = {"step ", entry->step},
                      .got = {opened.position().step}});
  return opened;
}

/// Returns the first of these checkpoints for which `trial` succeeds. `trial` opens a checkpoint and returns
/// an error text, empty if it is undamaged.
template <class Trial>
std::optional<checkpoint_reader> first_undamaged(std::string const& directory,
                                                 std::vector<std::string> const& names, sink const& log,
                                                 Trial trial) {
  std::string damaged;
  for (std::string const& name : names) {
    std::optional<checkpoint_reader> found;
    std::string const trouble = trial(found, name);
    if (trouble.empty()) return found;
    if (log) log(text_of({"checkpoint ", name, " is skipped: ", trouble}));
    damaged += (damaged.empty() ? "" : "; ") + name + ": " + trouble;
  }
  if (names.empty()) return std::nullopt;
  throw data_error({.what = "no checkpoint can be read",
                    .where = directory,
                    .expected = "at least one undamaged checkpoint",
                    .got = std::move(damaged)});
}

std::vector<std::string> finished_checkpoints(std::string const& directory) {
  std::vector<std::string> names;
  for (checkpoint_entry const& entry : list_checkpoints(directory))
    if (entry.finished) names.push_back(entry.name);
  return names;
}

}  // namespace cohort::detail

namespace cohort {

bool has_checkpoints(std::string const& directory) {
  std::error_code ignored;  // is_directory follows a link
  return std::filesystem::is_directory(directory, ignored)
         && !detail::finished_checkpoints(directory).empty();
}

std::optional<checkpoint_reader> find_newest_checkpoint(std::string const& directory, sink const& log) {
  return detail::first_undamaged(directory, detail::finished_checkpoints(directory), log,
                                 [&](std::optional<checkpoint_reader>& found, std::string const& name) {
                                   try {
                                     found.emplace(detail::open_entry(directory, name)).check();
                                   } catch (data_error const& refused) {
                                     return std::string(refused.what());
                                   } catch (file_error const& refused) {
                                     return std::string(refused.what());
                                   }
                                   return std::string();
                                 });
}

std::optional<checkpoint_reader> find_newest_checkpoint(communicator& world, std::string const& directory) {
  bool const first = world.rank() == 0;
  auto const listed = outcome_of_all(world, "resume", [&] {
    std::string lines;
    if (first)
      for (std::string const& name : detail::finished_checkpoints(directory)) lines += name + '\n';
    return lines;
  });
  if (!listed.trouble.empty())
    throw file_error({.what = "cannot list the checkpoints", .where = directory, .got = listed.trouble});
  std::vector<std::string> names;
  std::string const& lines = listed.texts[0];
  for (std::size_t at = 0, end; at < lines.size(); at = end + 1) {
    end = lines.find('\n', at);
    names.push_back(lines.substr(at, end - at));
  }
  return detail::first_undamaged(
      directory, names, first ? world.settings().log : sink(),
      [&](std::optional<checkpoint_reader>& found, std::string const& name) {
        auto const action = [&]() -> std::string {
          found.emplace(detail::open_entry(directory, name)).check(world.rank(), world.size());
          return "";
        };
        return outcome_of_all(world, "resume", action).trouble;
      });
}

}  // namespace cohort
