// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

/// Model of a disk: what a program has changed, and what survives a power failure.
///
/// Data of a file survive if the file was synchronised after the write, and an entry of a folder if the
/// folder was. Each other change of a folder may survive or not, in any combination, because POSIX states no
/// order.
namespace recorded_disk {

struct operation {
  enum class kind { create, write, sync, rename, remove, make_folder } what;
  std::string path{};  // create, rename, remove and make_folder; sync of a folder
  std::string to{};    // rename
  std::string bytes{};
  int file = -1;  // write and sync of a file: the number of the create
};

/// How much of the data that was not synchronised survives.
enum class unsynced { lost, half, zeros, all };

class disk {
 public:
  /// `root`: folder that exists and survives.
  explicit disk(std::string root) : root_(std::move(root)) { nodes_.push_back({.is_folder = true}); }

  void apply(operation const& change) {
    switch (change.what) {
      case operation::kind::create:
        files_.push_back(add(change.path, {}));
        break;
      case operation::kind::make_folder:
        add(change.path, {.is_folder = true});
        break;
      case operation::kind::write:
        nodes_[file(change)].data += change.bytes;
        break;
      case operation::kind::sync:
        if (change.file >= 0) {
          nodes_[file(change)].synced = nodes_[file(change)].data.size();
        } else {
          node& folder = nodes_[find(change.path)];
          folder.durable = folder.entries;
          folder.pending.clear();
        }
        break;
      case operation::kind::remove:
        enter(change.path, {{name_in(change.path), none}});
        break;
      case operation::kind::rename: {  // both names are in the same folder
        std::size_t const moved = find(change.path);
        enter(change.path, {{name_in(change.path), none}, {name_in(change.to), moved}});
        break;
      }
    }
  }
  /// Everything so far survives.
  void synchronise() {
    for (node& any : nodes_) {
      any.synced = any.data.size();
      any.durable = any.entries;
      any.pending.clear();
    }
  }

  /// Calls use(files) for each possible content of the disk after a power failure now: paths below the root
  /// with bytes; folders end in '/'.
  template <class Use>
  void each_survivor(Use use) const {
    std::vector<std::pair<std::size_t, std::size_t>> changes;  // folder, index of its pending change
    for (std::size_t at = 0; at < nodes_.size(); ++at)
      for (std::size_t k = 0; k < nodes_[at].pending.size(); ++k) changes.emplace_back(at, k);
    std::size_t const most = 12;
    EXPECT_LE(changes.size(), most);
    std::size_t const free = std::min(changes.size(), most);  // the older ones survive
    for (std::size_t subset = 0; subset < std::size_t{1} << free; ++subset)
      for (unsynced data : {unsynced::lost, unsynced::half, unsynced::zeros, unsynced::all}) {
        std::map<std::size_t, std::map<std::string, std::size_t>> folders;
        for (std::size_t at = 0; at < nodes_.size(); ++at)
          if (nodes_[at].is_folder) folders[at] = nodes_[at].durable;
        for (std::size_t c = 0; c < changes.size(); ++c) {
          std::size_t const bit = c + free < changes.size() ? most : c + free - changes.size();
          if (bit < most && (subset >> bit & 1) == 0) continue;
          auto const& [folder, k] = changes[c];
          set(folders[folder], nodes_[folder].pending[k]);
        }
        std::map<std::string, std::string> files;
        list(folders, 0, "", data, files);
        use(files);
      }
  }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  using change = std::vector<std::pair<std::string, std::size_t>>;  // names and their new nodes
  struct node {
    bool is_folder = false;
    std::string data{};
    std::size_t synced = 0;  // bytes
    std::map<std::string, std::size_t> entries{}, durable{};
    std::vector<change> pending{};
  };

  static std::string name_in(std::string const& path) { return path.substr(path.rfind('/') + 1); }
  static void set(std::map<std::string, std::size_t>& entries, change const& all) {
    for (auto const& [name, at] : all)
      if (at == none)
        entries.erase(name);
      else
        entries[name] = at;
  }
  std::size_t file(operation const& of) const { return files_[static_cast<std::size_t>(of.file)]; }

  std::size_t find(std::string const& path) const {
    std::size_t at = 0;
    for (std::size_t begin = root_.size(); begin < path.size();) {
      std::size_t const end = std::min(path.find('/', begin + 1), path.size());
      at = nodes_[at].entries.at(path.substr(begin + 1, end - begin - 1));
      begin = end;
    }
    return at;
  }
  void enter(std::string const& path, change all) {
    node& folder = nodes_[find(path.substr(0, path.rfind('/')))];
    set(folder.entries, all);
    folder.pending.push_back(std::move(all));
  }
  std::size_t add(std::string const& path, node fresh) {
    nodes_.push_back(std::move(fresh));
    enter(path, {{name_in(path), nodes_.size() - 1}});
    return nodes_.size() - 1;
  }
  void list(std::map<std::size_t, std::map<std::string, std::size_t>> const& folders, std::size_t folder,
            std::string const& prefix, unsynced data, std::map<std::string, std::string>& to) const {
    for (auto const& [name, at] : folders.at(folder)) {
      node const& entry = nodes_[at];
      if (entry.is_folder) {
        to[prefix + name + '/'];
        list(folders, at, prefix + name + '/', data, to);
        continue;
      }
      std::string bytes = entry.data;
      std::size_t const rest = bytes.size() - entry.synced;
      if (data == unsynced::lost) bytes.resize(entry.synced);
      if (data == unsynced::half) bytes.resize(entry.synced + rest / 2);
      if (data == unsynced::zeros)
        std::fill(bytes.end() - static_cast<std::ptrdiff_t>(rest), bytes.end(), '\0');
      to[prefix + name] = std::move(bytes);
    }
  }

  std::string root_;
  std::vector<node> nodes_;         // 0: the root
  std::vector<std::size_t> files_;  // nodes in the order of their creation
};

/// Writes files to a folder.
inline void write(std::map<std::string, std::string> const& files, std::string const& folder) {
  for (auto const& [name, bytes] : files)
    if (name.ends_with('/'))
      std::filesystem::create_directories(folder + '/' + name);
    else
      std::ofstream(folder + '/' + name, std::ios::binary) << bytes;
}

}  // namespace recorded_disk
