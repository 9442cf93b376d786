// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/interchange/detail/key_runs.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/io/folder.hpp>
#include <cstring>
#include <tuple>
#include <utility>

namespace cohort::detail {

/// A run file contains the number of entries, and then for each entry this head and the key.
struct key_run_head {
  std::uint64_t key_bytes;
  std::int64_t row;
  std::uint64_t offset;
  std::uint64_t bytes;
};

std::string ordered_bytes(std::int64_t number) {
  auto const value = static_cast<std::uint64_t>(number) ^ std::uint64_t{1} << 63;
  std::string bytes;
  for (int shift = 56; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
  return bytes;
}

std::int64_t integer_of(std::string_view ordered) {
  std::uint64_t value = 0;
  for (char const c : ordered) value = value << 8 | static_cast<unsigned char>(c);
  return static_cast<std::int64_t>(value ^ std::uint64_t{1} << 63);
}

/// Writes the entries that `next` returns, until it returns null.
template <class Next>
void write_entries(std::string const& path, std::uint64_t count, Next next,
                   std::function<void()> const& progress = {}) {
  io::file_writer file(path);
  std::string text(reinterpret_cast<char const*>(&count), sizeof count);
  for (key_entry const* one = next(); one != nullptr; one = next()) {
    key_run_head const head{one->key.size(), one->row, one->offset, one->bytes};
    text.append(reinterpret_cast<char const*>(&head), sizeof head).append(one->key);
    if (text.size() < std::size_t{1} << 20) continue;
    file.write(text);
    text.clear();
    if (progress) progress();
  }
  file.write(text);
  file.commit();
}

void write_key_run(std::string const& path, std::vector<key_entry>& entries) {
  std::ranges::sort(entries, {}, [](key_entry const& one) { return std::tie(one.key, one.row); });
  std::size_t at = 0;
  write_entries(path, entries.size(), [&] { return at < entries.size() ? &entries[at++] : nullptr; });
}

key_run_reader::key_run_reader(std::string const& path) : file_(path) {
  read(&remaining_, sizeof remaining_);
}

void key_run_reader::read(void* into, std::size_t bytes) {
  if (buffer_.size() - at_ < bytes) {
    constexpr std::size_t whole = 1 << 16;
    buffer_.erase(0, at_);
    at_ = 0;
    std::size_t const had = buffer_.size();
    buffer_.resize(had + std::max(bytes, whole));
    buffer_.resize(had + file_.read(buffer_.data() + had, buffer_.size() - had));
    if (buffer_.size() < bytes)
      throw data_error({.what = "the file of sorted keys is damaged",
                        .where = file_.path(),
                        .expected = {bytes, " more bytes"},
                        .got = "the end of the file"});
  }
  std::memcpy(into, buffer_.data() + at_, bytes);
  at_ += bytes;
}

bool key_run_reader::next(key_entry& out) {
  if (remaining_ == 0) return false;
  --remaining_;
  key_run_head head;
  read(&head, sizeof head);
  if (head.key_bytes > longest_key)
    throw data_error({.what = "the file of sorted keys is damaged",
                      .where = file_.path(),
                      .expected = {"a key of at most ", longest_key, " bytes"},
                      .got = {head.key_bytes}});
  out.key.resize(static_cast<std::size_t>(head.key_bytes));
  read(out.key.data(), out.key.size());
  out.row = head.row;
  out.offset = head.offset;
  out.bytes = head.bytes;
  return true;
}

bool merged_key_runs::after(source const& a, source const& b) {
  return std::tie(a.entry.key, a.entry.row) > std::tie(b.entry.key, b.entry.row);
}

merged_key_runs::merged_key_runs(std::span<std::string const> paths) {
  for (std::string const& path : paths) {
    source one{std::make_unique<key_run_reader>(path), {}};
    if (one.reader->next(one.entry)) heap_.push_back(std::move(one));
  }
  std::ranges::make_heap(heap_, after);
}

bool merged_key_runs::next(key_entry& out) {
  if (heap_.empty()) return false;
  std::ranges::pop_heap(heap_, after);
  source& lowest = heap_.back();
  std::swap(out, lowest.entry);
  if (lowest.reader->next(lowest.entry))
    std::ranges::push_heap(heap_, after);
  else
    heap_.pop_back();
  return true;
}

std::vector<std::string> reduce_key_runs(std::vector<std::string> runs, std::string const& prefix,
                                         std::size_t most, std::function<void()> const& progress) {
  std::size_t const given = runs.size();
  std::size_t merged = 0;  // number of first runs that are already merged
  while (runs.size() - merged > most) {
    std::vector<std::string> const group(runs.begin() + static_cast<std::ptrdiff_t>(merged),
                                         runs.begin() + static_cast<std::ptrdiff_t>(merged + most));
    std::uint64_t entries = 0;
    for (std::string const& path : group) {
      std::uint64_t count = 0;
      io::file_reader(path).read_exactly(&count, sizeof count);
      entries += count;
    }
    runs.push_back(prefix + '-' + std::to_string(runs.size() - given) + std::string(".sorted"));
    merged_key_runs from(group);
    key_entry one;
    write_entries(
        runs.back(), entries, [&] { return from.next(one) ? &one : nullptr; }, progress);
    for (std::size_t which = merged; which < merged + most; ++which)
      if (which >= given) io::remove_file(runs[which]);
    merged += most;
  }
  runs.erase(runs.begin(), runs.begin() + static_cast<std::ptrdiff_t>(merged));
  return runs;
}

}  // namespace cohort::detail
