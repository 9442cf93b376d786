// SPDX-License-Identifier: Apache-2.0
#include <cohort/communicator/detail/texts_of_all.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/detail/host_identity.hpp>
#include <cohort/training/host_files.hpp>
#include <string_view>

namespace cohort {

namespace detail {

std::vector<std::string> host_files_of(std::size_t rank, std::span<listed_files const> ranks) {
  // All ranks check all hosts, so that all ranks throw.
  std::size_t before = 0, of_host = 0;
  for (std::size_t first = 0; first < ranks.size(); ++first) {
    std::size_t count = 0, earlier = 0;
    for (std::size_t other = 0; other < ranks.size(); ++other) {
      if (ranks[other].host != ranks[first].host) continue;
      ++count;
      earlier += other < first ? 1 : 0;
      if (ranks[other].files != ranks[first].files)
        throw setting_error(
            {.what = "the ranks of a host have different files",
             .where = {"host ", ranks[first].host},
             .expected = {"the same list as rank ", first, ", ", ranks[first].files.size(), " files"},
             .got = {"a different list on rank ", other, ", ", ranks[other].files.size(), " files"}});
    }
    if (ranks[first].files.size() < count)
      throw setting_error({.what = "a host has fewer files than ranks",
                           .where = {"host ", ranks[first].host},
                           .expected = {"at least ", count, " files"},
                           .got = {ranks[first].files.size()}});
    if (first == rank) {
      before = earlier;
      of_host = count;
    }
  }
  std::vector<std::string> made;
  for (std::size_t k = before; k < ranks[rank].files.size(); k += of_host)
    made.push_back(ranks[rank].files[k]);
  return made;
}

}  // namespace detail

std::vector<std::string> host_files(std::vector<std::string> const& files, communicator& world) {
  std::string text = detail::host_identity();
  for (std::string const& file : files) text += '\0' + file;
  std::vector<detail::listed_files> ranks;
  for (std::string const& one_text : detail::texts_of_all(world, "host_files", text)) {
    std::string_view rest = one_text;
    detail::listed_files& one = ranks.emplace_back();
    one.host = rest.substr(0, rest.find('\0'));
    for (std::size_t end = rest.find('\0'); end != rest.npos; end = rest.find('\0')) {
      rest.remove_prefix(end + 1);
      one.files.emplace_back(rest.substr(0, rest.find('\0')));
    }
  }
  return detail::host_files_of(static_cast<std::size_t>(world.rank()), ranks);
}

}  // namespace cohort
