// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <cohort/error/exceptions.hpp>
#include <cohort/records/detail/forward_reader.hpp>
#include <cohort/records/lmdb.hpp>
#include <cstring>
#include <utility>

namespace cohort::detail {

/// Lists the entries of an LMDB file: walks its B+ tree from the root of the last committed transaction.
class lmdb_indexer {
 public:
  explicit lmdb_indexer(std::string const& path) : file_(path), found_{.fields = {"value"}} {}

  record_index run() {
    meta const newest = read_metas();
    if (newest.root == no_page) return std::move(found_);
    walk(newest.root, newest.depth);
    if (found_.places.size() != newest.entries)
      refuse(newest.root, "the number of entries is wrong", {newest.entries}, {found_.places.size()});
    return std::move(found_);
  }

 private:
  static constexpr std::uint64_t no_page = ~std::uint64_t{0};
  static constexpr std::size_t page_head = 16, node_head = 8, meta_bytes = 136;
  static constexpr std::uint32_t magic = 0xbeefc0de;
  static constexpr int most_levels = 32;
  enum page_flag : unsigned { branch = 1, leaf = 2, overflow = 4, meta_page = 8, fixed_keys = 0x20 };
  enum node_flag : unsigned { on_overflow = 1, named_database = 2, duplicates = 4 };
  static constexpr unsigned sorted_duplicates = 4;  // a flag of a database

  struct meta {
    std::uint64_t root = no_page, entries = 0, transaction = 0;
    int depth = 0;
  };

  template <class T>
  static T number(char const* from) {
    T found;
    std::memcpy(&found, from, sizeof found);
    return found;
  }

  [[noreturn]] void refuse(std::uint64_t page, char const* what, clause expected, clause got) const {
    throw data_error({.what = {"cannot read the LMDB file: ", what},
                      .where = {file_.path(), ", page ", page},
                      .expected = std::move(expected),
                      .got = std::move(got)});
  }

  void read_at(std::uint64_t page, std::uint64_t offset, char* to, std::size_t bytes) {
    file_.seek(offset);
    if (offset > file_.size() || file_.read(to, bytes) < bytes)
      refuse(page, "it is truncated", {offset + bytes, " bytes"}, {file_.size(), " bytes"});
  }

  /// Reads one of the two meta pages.
  meta read_meta(std::uint64_t page) {
    char bytes[page_head + meta_bytes];
    read_at(page, page * page_bytes_, bytes, sizeof bytes);
    char const* const at = bytes + page_head;
    if ((number<std::uint16_t>(bytes + 10) & meta_page) == 0 || number<std::uint32_t>(at) != magic)
      refuse(page, "it is not an LMDB file", "a meta page", "another page");
    if (std::uint32_t const version = number<std::uint32_t>(at + 4); version != 1)
      refuse(page, "unsupported version", "version 1", {version});
    page_bytes_ = number<std::uint32_t>(at + 24);
    if (page_bytes_ < 512 || page_bytes_ > 65536 || (page_bytes_ & (page_bytes_ - 1)) != 0)
      refuse(page, "its page size is invalid", "a power of two from 512 to 65536", {page_bytes_});
    char const* const database = at + 24 + 48;  // follows the database of free pages
    if ((number<std::uint16_t>(database + 4) & sorted_duplicates) != 0)
      refuse(page, "it has several values for a key", "unique keys", "a database with sorted duplicates");
    return {.root = number<std::uint64_t>(database + 40),
            .entries = number<std::uint64_t>(database + 32),
            .transaction = number<std::uint64_t>(at + 128),
            .depth = number<std::uint16_t>(database + 6)};
  }

  meta read_metas() {
    meta const first = read_meta(0);
    std::uint64_t const bytes = page_bytes_;
    meta const second = read_meta(1);
    if (page_bytes_ != bytes) refuse(1, "its page sizes differ", {bytes}, {page_bytes_});
    most_pages_ = file_.size() / page_bytes_;
    return first.transaction < second.transaction ? second : first;
  }

  /// Adds the entries below a page, in the order of their keys. `levels`: tree levels from this page on.
  void walk(std::uint64_t page, int levels) {
    if (levels < 1 || levels > most_levels)
      refuse(page, "its tree is damaged", {"1 to ", most_levels, " levels"}, {levels, " levels"});
    if (page >= most_pages_ || ++visited_ > most_pages_)
      refuse(page, "its tree is damaged", {"at most ", most_pages_, " pages"}, "more");
    std::string bytes(page_bytes_, '\0');
    read_at(page, page * page_bytes_, bytes.data(), bytes.size());
    unsigned const flags = number<std::uint16_t>(bytes.data() + 10);
    bool const is_leaf = levels == 1;
    if (number<std::uint64_t>(bytes.data()) != page
        || (flags & (branch | leaf | overflow | meta_page | fixed_keys)) != (is_leaf ? leaf : branch))
      refuse(page, "its tree is damaged", is_leaf ? "a leaf page" : "a branch page", {"flags ", flags});
    std::size_t const lower = number<std::uint16_t>(bytes.data() + 12);
    if (lower < page_head || lower > bytes.size() || lower % 2 != 0)
      refuse(page, "its tree is damaged", "an offset in the page", {lower});
    std::size_t free_bytes = bytes.size() - lower;  // bytes not yet used by the leaf's entries
    for (std::size_t at = page_head; at < lower; at += 2) {
      std::size_t const node = number<std::uint16_t>(bytes.data() + at);
      if (node < lower || node + node_head > bytes.size())
        refuse(page, "its tree is damaged", "a node in the page", {"offset ", node});
      if (is_leaf)
        add_entry(page, bytes, node, free_bytes);
      else
        walk(number<std::uint32_t>(bytes.data() + node)
                 | static_cast<std::uint64_t>(number<std::uint16_t>(bytes.data() + node + 4)) << 32,
             levels - 1);
    }
  }

  void add_entry(std::uint64_t page, std::string const& bytes, std::size_t node, std::size_t& free_bytes) {
    std::uint64_t const size = number<std::uint32_t>(bytes.data() + node);
    unsigned const flags = number<std::uint16_t>(bytes.data() + node + 4);
    std::size_t const key_bytes = number<std::uint16_t>(bytes.data() + node + 6),
                      value = node + node_head + key_bytes;
    bool const elsewhere = (flags & on_overflow) != 0;
    if (value + (elsewhere ? 8 : size) > bytes.size())
      refuse(page, "an entry is damaged", "a key and a value in the page",
             {key_bytes, " and ", size, " bytes"});
    std::size_t const used = value - node + (elsewhere ? 8 : size);
    if (used > free_bytes)
      refuse(page, "its tree is damaged", "entries that do not overlap", {used, " bytes at offset ", node});
    free_bytes -= used;
    std::string key = bytes.substr(node + node_head, key_bytes);
    if ((flags & (named_database | duplicates)) != 0)
      refuse(page, "it has named databases or several values for a key",
             "one unnamed database with unique keys", {"the entry ", key});
    std::uint64_t offset = page * page_bytes_ + value;
    if (elsewhere) {
      std::uint64_t const first = number<std::uint64_t>(bytes.data() + value);
      if (first >= most_pages_ || size > file_.size() - first * page_bytes_
          || file_.size() - first * page_bytes_ - size < page_head)
        refuse(page, "an entry is damaged", "a value in the file", {size, " bytes at page ", first});
      offset = first * page_bytes_ + page_head;
    }
    found_.places.push_back({offset, size});
    found_.keys.push_back(std::move(key));
  }

  forward_reader file_;
  record_index found_;
  std::uint64_t page_bytes_ = 4096;
  std::uint64_t most_pages_ = 0, visited_ = 0;
};

}  // namespace cohort::detail

namespace cohort {

record_format lmdb() {
  return {.name = "lmdb 1",
          .index = [](std::string const& path) { return detail::lmdb_indexer(path).run(); }};
}

std::string lmdb_file(std::string const& path) {
  struct stat status {};
  bool const is_folder = ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
  return is_folder ? path + "/data.mdb" : path;
}

}  // namespace cohort
