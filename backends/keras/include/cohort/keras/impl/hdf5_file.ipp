// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cohort/detail/text.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/keras/detail/hdf5_file.hpp>
#include <cohort/keras/detail/keras_fields.hpp>
#include <cstring>

namespace cohort::detail {

namespace hdf5_limits {

/// Limits, in this order: bytes of an attribute's strings; strings of an attribute; attributes of a split
/// list; bytes of a block of the file's structure; blocks of an object's header; axes of an array.
inline constexpr std::size_t text_bytes = std::size_t{64} << 20, texts = 100'000, chunks = 10'000,
                             block_bytes = std::size_t{64} << 20, header_blocks = 1000, rank = 32;
/// Limit of the bytes of a chunk's content, as in HDF5.
inline constexpr std::uint64_t chunk_bytes = (std::uint64_t{1} << 32) - 1;
/// Limit of the unwritten chunks of an array, besides those for which the file has room.
inline constexpr std::uint64_t unwritten_chunks = 1'000'000;
/// Limit of the members of a group.
inline constexpr std::size_t members = 1'000'000;

}  // namespace hdf5_limits

/// Message types in object headers.
namespace hdf5_message {

inline constexpr int dataspace = 0x1, link_info = 0x2, datatype = 0x3, fill = 0x5, link = 0x6, external = 0x7,
                     layout = 0x8, filters = 0xb, attribute = 0xc, continuation = 0x10, symbol_table = 0x11,
                     attribute_info = 0x15;

}  // namespace hdf5_message

/// Numbers of filters.
namespace hdf5_filter {

inline constexpr std::uint64_t deflate = 1, shuffle = 2, fletcher32 = 3, lzf = 32000;

inline std::string name_of(std::uint64_t filter) {
  switch (filter) {
    case deflate:
      return "deflate";
    case shuffle:
      return "shuffle";
    case fletcher32:
      return "fletcher32";
    case 4:
      return "szip";
    case 5:
      return "nbit";
    case 6:
      return "scaleoffset";
    case lzf:
      return "lzf";
    default:
      return "filter " + std::to_string(filter);
  }
}

}  // namespace hdf5_filter

/// A part of the file's structure, parsed sequentially. Numbers are little-endian.
class hdf5_file::block {
 public:
  block(hdf5_file const& file, std::uint64_t at, std::string bytes)
      : file_(file), at_(at), bytes_(std::move(bytes)) {}

  std::size_t left() const { return bytes_.size() - next_; }
  std::uint64_t at() const { return at_ + next_; }
  std::string text(std::size_t count) {
    expect(count);
    return bytes_.substr(std::exchange(next_, next_ + count), count);
  }
  void skip(std::size_t count) {
    expect(count);
    next_ += count;
  }
  std::uint64_t number(std::size_t count) {
    expect(count);
    std::uint64_t made = 0;
    for (std::size_t i = 0; i < count; ++i)
      made |= std::uint64_t{static_cast<unsigned char>(bytes_[next_ + i])} << (8 * i);
    next_ += count;
    return made;
  }
  void expect_text(std::string_view wanted, char const* what) {
    std::uint64_t const where = at();
    if (text(wanted.size()) != wanted) refuse_at(where, what, std::string(wanted), "other bytes");
  }
  /// Reads a one-byte version number, which must be `one` or `other`.
  std::uint64_t version(char const* what, std::uint64_t one, std::uint64_t other) {
    std::uint64_t const where = at(), made = number(1);
    if (made != one && made != other)
      refuse_at(where, text_of({"the version of ", what, " is unknown"}), text_of({one, " or ", other}),
                text_of({made}));
    return made;
  }
  /// Reads the next `count` bytes as a block.
  block part(std::size_t count) {
    std::uint64_t const where = at();
    return {file_, where, text(count)};
  }
  [[noreturn]] void refuse_at(std::uint64_t at, std::string what, std::string expected,
                              std::string got) const {
    file_.refuse_at(at, std::move(what), std::move(expected), std::move(got));
  }

 private:
  void expect(std::size_t count) const {
    if (count > left())
      refuse_at(at(), "a part of the structure is truncated", text_of({count, " bytes"}), text_of({left()}));
  }

  hdf5_file const& file_;
  std::uint64_t at_;
  std::string bytes_;
  std::size_t next_ = 0;
};

void hdf5_file::refuse(std::string const& path, std::string what, std::string expected, std::string got,
                       std::string_view remedy) const {
  throw data_error({.what = "cannot read the HDF5 file: " + what,
                    .where = path.empty() ? name_ : name_ + ", " + path,
                    .expected = std::move(expected),
                    .got = text_of({got, "; ", remedy})});
}

void hdf5_file::refuse_at(std::uint64_t at, std::string what, std::string expected, std::string got) const {
  refuse("byte " + std::to_string(at), std::move(what), std::move(expected), std::move(got), remedies_.save);
}

hdf5_file::hdf5_file(std::string name, std::string const& path, hdf5_remedies remedies)
    : name_(std::move(name)),
      remedies_(remedies),
      file_(new regular_file(open_regular_file(path, "cannot read the file"))),
      size_(file_->size()) {
  open();
}

hdf5_file::hdf5_file(std::string name, std::span<std::byte const> bytes)
    : name_(std::move(name)), bytes_(bytes), size_(bytes.size()) {
  open();
}

/// Counts bytes to be read, and refuses the file at the limit: damaged references may read the same bytes
/// repeatedly.
void hdf5_file::spend(std::uint64_t at, std::size_t bytes) const {
  std::uint64_t const most = 32 * size_ + hdf5_limits::block_bytes;
  if ((spent_ += bytes) > most)
    refuse_at(at, "the file's structure refers to the same bytes many times",
              text_of({"at most ", most, " bytes read"}), "more");
}

void hdf5_file::read_into(void* to, std::uint64_t at, std::size_t bytes) const {
  if (at > size_ || bytes > size_ - at)
    refuse_at(at, "the file is truncated or damaged", text_of({bytes, " bytes at this place"}),
              text_of({"a file of ", size_, " bytes"}));
  spend(at, bytes);
  if (bytes == 0) return;
  if (!file_) {
    std::memcpy(to, bytes_.data() + at, bytes);
    return;
  }
  if (std::size_t const got = read_at(*file_, name_, at, to, bytes); got < bytes)
    refuse_at(at + got, "the file became shorter while it was read", text_of({size_, " bytes"}), "fewer");
}

hdf5_file::block hdf5_file::part(std::uint64_t at, std::uint64_t bytes) const {
  if (bytes > hdf5_limits::block_bytes)
    refuse_at(at, "a part of the structure is too large",
              text_of({"at most ", hdf5_limits::block_bytes, " bytes"}), text_of({bytes}));
  if (at > size_ || bytes > size_ - at)  // checked before memory is allocated
    refuse_at(at, "the file is truncated or damaged", text_of({bytes, " bytes at this place"}),
              text_of({"a file of ", size_, " bytes"}));
  std::string made(static_cast<std::size_t>(bytes), '\0');
  read_into(made.data(), at, made.size());
  return {*this, at, std::move(made)};
}

/// Reads the superblock.
void hdf5_file::open() {
  constexpr std::string_view signature = "\x89HDF\r\n\x1a\n";
  if (size_ < signature.size() || part(0, signature.size()).text(signature.size()) != signature)
    refuse({}, "it is not an HDF5 file", "the signature of HDF5 at byte 0", text_of({size_, " other bytes"}),
           remedies_.save);
  block head = part(8, std::min<std::uint64_t>(size_ - 8, 88 + 4));
  std::uint64_t const version = head.number(1);
  if (version > 1)
    refuse({}, "the file has the format of newer HDF5 libraries",
           "a superblock of version 0 or 1, as h5py writes it by default", text_of({version}),
           remedies_.save);
  head.skip(4);
  std::uint64_t const offset_bytes = head.number(1), length_bytes = head.number(1);
  if (offset_bytes != 8 || length_bytes != 8)
    refuse_at(13, "the file's addresses have an unusual size", "8 and 8 bytes",
              text_of({offset_bytes, " and ", length_bytes}));
  head.skip(9 + (version == 1 ? 4 : 0));
  if (std::uint64_t const base = head.number(8); base != 0)
    refuse_at(24, "the file has a user block", "base address 0", text_of({base}));
  head.skip(8);  // free space
  if (std::uint64_t const end = head.number(8); end > size_)
    refuse({}, "the file is truncated", text_of({end, " bytes"}), text_of({size_}), remedies_.save);
  head.skip(8 + 8);  // driver, name of the root group
  root_ = head.number(8);
}

/// Reads the header of an object, version 1: a list of messages in one or several blocks.
hdf5_file::messages hdf5_file::object_at(std::uint64_t address) const {
  block head = part(address, 16);
  if (std::uint64_t const version = head.number(1); version != 1)
    refuse_at(address, "an object's header has an unknown version", "version 1 (h5py's default)",
              text_of({version}));
  head.skip(1);
  std::uint64_t const count = head.number(2);
  head.skip(4);
  std::uint64_t const bytes = head.number(4);
  messages made;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> blocks{{address + 16, bytes}};
  for (std::size_t next = 0; next < blocks.size(); ++next) {
    block from = part(blocks[next].first, blocks[next].second);
    while (from.left() >= 8 && made.size() < count) {
      message one{.type = static_cast<int>(from.number(2)), .is_shared = false, .at = 0, .body = {}};
      auto const size = static_cast<std::size_t>(from.number(2));
      one.is_shared = (from.number(1) & 2) != 0;
      from.skip(3);
      one.at = from.at();
      one.body = from.text(size);
      if (one.type == hdf5_message::continuation) {
        block more(*this, one.at, one.body);
        std::uint64_t const at = more.number(8), length = more.number(8);
        if (blocks.size() == hdf5_limits::header_blocks)
          refuse_at(one.at, "an object's header has too many parts",
                    text_of({"at most ", hdf5_limits::header_blocks}), "more");
        blocks.emplace_back(at, length);
      }
      made.push_back(std::move(one));
    }
  }
  return made;
}

/// Returns the members of a group; null if the object is not a group.
hdf5_file::group const* hdf5_file::group_at(std::uint64_t address) const {
  if (auto const known = groups_.find(address); known != groups_.end()) return &known->second;
  for (message const& one : object_at(address)) {
    if (one.type == hdf5_message::link_info || one.type == hdf5_message::link)
      refuse_at(one.at, "a group has the format of newer HDF5 libraries",
                "a symbol table, as h5py writes it by default", "links");
    if (one.type != hdf5_message::symbol_table) continue;
    block table(*this, one.at, one.body);
    std::uint64_t const tree = table.number(8), heap = table.number(8);
    block head = part(heap, 32);
    head.expect_text("HEAP", "the names of a group are damaged");
    head.skip(4);
    std::uint64_t const bytes = head.number(8);
    head.skip(8);
    std::uint64_t const place = head.number(8);
    std::string const names = part(place, bytes).text(static_cast<std::size_t>(bytes));
    group made;
    add_members(tree, names, made);
    return &groups_.emplace(address, std::move(made)).first->second;
  }
  return nullptr;
}

/// Calls `visit` with each entry (key and address) in the nodes of level 0 of a B-tree of version 1.
/// Parameters  `wanted`: kind of the tree: 0 for a group, 1 for chunks.
template <class Visit>
void hdf5_file::for_each_entry(std::uint64_t tree, std::uint64_t wanted, std::size_t entry_bytes,
                               Visit visit) const {
  struct pending_node {
    std::uint64_t at;
    std::uint64_t below;  // the node's level must be lower, which excludes cycles
  };
  std::vector<pending_node> pending{{tree, 256}};
  while (!pending.empty()) {
    auto const [at, below] = pending.back();
    pending.pop_back();
    block head = part(at, 24);
    head.expect_text("TREE", "a tree of a group or of chunks is damaged");
    std::uint64_t const kind = head.number(1), level = head.number(1), count = head.number(2);
    if (kind != wanted || level >= below)
      refuse_at(at, "a tree of a group or of chunks is damaged",
                text_of({"a node of kind ", wanted, " below level ", below}),
                text_of({"kind ", kind, ", level ", level}));
    block entries = part(at + 24, count * entry_bytes + 8);
    for (std::uint64_t k = 0; k < count; ++k) {
      block entry = entries.part(entry_bytes);
      if (level == 0) {
        visit(entry);
        continue;
      }
      entry.skip(entry_bytes - 8);
      pending.push_back({entry.number(8), level});
    }
  }
}

/// Reads the members of a group from its tree, whose entries refer to symbol tables.
void hdf5_file::add_members(std::uint64_t tree, std::string const& names, group& to) const {
  for_each_entry(tree, 0, 16, [&](block& entry) {
    entry.skip(8);
    std::uint64_t const child = entry.number(8);
    block leaf = part(child, 8);
    leaf.expect_text("SNOD", "the members of a group are damaged");
    leaf.skip(2);
    std::uint64_t const symbols = leaf.number(2);
    block table = part(child + 8, symbols * 40);
    for (std::uint64_t symbol = 0; symbol < symbols; ++symbol) {
      std::uint64_t const name = table.number(8), object = table.number(8), cached = table.number(4);
      table.skip(20);
      if (name >= names.size())
        refuse_at(child, "a name of a group is damaged", text_of({"an offset below ", names.size()}),
                  text_of({name}));
      if (cached == 2) continue;  // a soft link
      std::size_t const from = static_cast<std::size_t>(name),
                        end = std::min(names.find('\0', from), names.size());
      spend(child, end - from);
      to.try_emplace(names.substr(from, end - from), object);
      if (to.size() > hdf5_limits::members)
        refuse_at(child, "a group has too many members", text_of({"at most ", hdf5_limits::members}), "more");
    }
  });
}

std::optional<std::uint64_t> hdf5_file::find(std::string const& path) const {
  std::uint64_t at = root_;
  for (std::size_t from = 0; from < path.size();) {
    std::size_t const end = std::min(path.find('/', from), path.size());
    if (end > from) {
      group const* const in = group_at(at);
      auto const member =
          in ? in->find(std::string_view(path).substr(from, end - from)) : group::const_iterator{};
      if (!in || member == in->end()) return {};
      at = member->second;
    }
    from = end + 1;
  }
  return at;
}

std::uint64_t hdf5_file::required(std::string const& path, char const* what) const {
  auto const found = find(path);
  if (!found)
    refuse(path, text_of({"there is no such ", what, " in this file"}), "an object of this file, not a link",
           "none", remedies_.complete);
  return *found;
}

std::vector<std::uint64_t> hdf5_file::extents_of(block& from) {
  std::uint64_t const at = from.at(), version = from.version("a shape", 1, 2);
  std::uint64_t const rank = from.number(1);
  from.skip(1);
  std::uint64_t const kind = from.number(1);  // version 1: reserved
  if (version == 1) from.skip(4);
  if (rank > hdf5_limits::rank || (version == 2 && kind > 1))
    from.refuse_at(at, "a shape is damaged", text_of({"at most ", hdf5_limits::rank, " axes"}),
                   text_of({rank}));
  std::vector<std::uint64_t> made;
  for (std::uint64_t axis = 0; axis < rank; ++axis) made.push_back(from.number(8));
  return made;
}

hdf5_type hdf5_file::type_of(block& from) {
  std::uint64_t const head = from.number(1), bits = from.number(3), bytes = from.number(4);
  hdf5_type made{.is = hdf5_type::kind::other, .is_signed = false, .bytes = static_cast<std::size_t>(bytes)};
  switch (head & 15) {
    case 0: {  // little-endian, without padding
      std::uint64_t const offset = from.number(2), precision = from.number(2);
      made.is_signed = (bits & 8) != 0;
      if ((bits & 1) == 0 && offset == 0 && precision == 8 * bytes && std::has_single_bit(bytes)
          && bytes <= 8)
        made.is = hdf5_type::kind::integer;
      break;
    }
    case 1: {  // IEEE 754
      std::uint64_t const offset = from.number(2), precision = from.number(2), exponent_at = from.number(1),
                          exponent = from.number(1), mantissa_at = from.number(1), mantissa = from.number(1),
                          bias = from.number(4);
      bool const is_known =
          (bytes == 2 && mantissa == 10) || (bytes == 4 && mantissa == 23) || (bytes == 8 && mantissa == 52);
      if (is_known && (bits & 0x41) == 0 && (bits >> 4 & 3) == 2 && (bits >> 8 & 0xff) == 8 * bytes - 1
          && offset == 0 && precision == 8 * bytes && exponent_at == mantissa && mantissa_at == 0
          && exponent == 8 * bytes - 1 - mantissa && bias == (std::uint64_t{1} << (exponent - 1)) - 1)
        made.is = hdf5_type::kind::floating;
      break;
    }
    case 3:
      made.is = hdf5_type::kind::text;
      break;
    case 9:
      if ((bits & 15) == 1 && bytes == 16) made.is = hdf5_type::kind::texts_in_heap;
      break;
    default:
      break;
  }
  return made;
}

/// Returns a string from a global heap. Heaps are not cached, because a damaged file may refer to very many.
std::string hdf5_file::heap_text(std::uint64_t heap, std::uint64_t index, std::uint64_t bytes,
                                 std::string const& where) const {
  if (bytes == 0) return {};
  block head = part(heap, 16);
  head.expect_text("GCOL", "a heap of strings is damaged");
  head.skip(4);
  std::uint64_t const heap_bytes = head.number(8);
  if (heap_bytes < 16 || heap_bytes > size_ - heap)
    refuse_at(heap, "a heap of strings is damaged", text_of({"16 to ", size_ - heap, " bytes"}),
              text_of({heap_bytes}));
  for (std::uint64_t at = heap + 16, end = heap + heap_bytes; end - at >= 16;) {
    block entry = part(at, 16);
    std::uint64_t const number = entry.number(2);
    entry.skip(6);
    std::uint64_t const size = entry.number(8), room = end - at - 16;
    if (number == 0) break;  // the free space
    if (size > room || (number == index && size < bytes))
      refuse_at(at, "a heap of strings is damaged", text_of({"a string of ", bytes, " to ", room, " bytes"}),
                text_of({size}));
    if (number == index) {
      std::string made = part(at + 16, bytes).text(static_cast<std::size_t>(bytes));
      made.resize(strnlen(made.data(), made.size()));
      return made;
    }
    at += 16 + std::min((size + 7) / 8 * 8, room);
  }
  refuse(where, "the attribute is damaged", text_of({"string ", index, " in the heap at byte ", heap}),
         "none", remedies_.save);
}

std::optional<std::vector<std::string>> hdf5_file::list(std::string const& object,
                                                        std::string const& attribute) const {
  std::string const where = object + ", attribute " + attribute;
  for (message const& one : object_at(required(object, "object"))) {
    if (one.type == hdf5_message::attribute_info)
      refuse(object, "the attributes have the format of newer HDF5 libraries",
             "attributes in the object's header", "a separate heap", remedies_.save);
    if (one.type != hdf5_message::attribute) continue;
    block from(*this, one.at, one.body);
    std::uint64_t const version = from.number(1), flags = from.number(1);
    if (version < 1 || version > 3)
      refuse(where, "the version of an attribute is unknown", "1, 2 or 3", text_of({version}),
             remedies_.save);
    std::uint64_t const sizes[]{from.number(2), from.number(2), from.number(2)};
    if (version == 3) from.skip(1);
    auto const padded = [&](std::uint64_t bytes) {
      return static_cast<std::size_t>(version == 1 ? (bytes + 7) / 8 * 8 : bytes);
    };
    std::string name = from.text(padded(sizes[0]));
    name.resize(strnlen(name.data(), name.size()));
    if (name != attribute) continue;
    if (one.is_shared || (version > 1 && flags != 0))
      refuse(where, "the attribute refers to a shared type", "a type in the object's header", "a reference",
             remedies_.save);
    block type_block = from.part(padded(sizes[1])), space_block = from.part(padded(sizes[2]));
    hdf5_type const type = type_of(type_block);
    std::uint64_t count = 1;
    for (std::uint64_t const extent : extents_of(space_block)) {
      count = extent > hdf5_limits::texts ? hdf5_limits::texts + 1 : count * extent;
      if (count > hdf5_limits::texts)
        refuse(where, "the attribute has too many strings", text_of({"at most ", hdf5_limits::texts}), "more",
               remedies_.save);
    }
    std::vector<std::string> made;
    if (count == 0) return made;
    bool const in_heap = type.is == hdf5_type::kind::texts_in_heap;
    if (!in_heap && type.is != hdf5_type::kind::text)
      refuse(where, "the attribute is not a string", "strings", "elements of another type", remedies_.save);
    std::uint64_t bytes = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      if (in_heap) {
        std::uint64_t const length = from.number(4), heap = from.number(8), index = from.number(4);
        if ((bytes += length) > hdf5_limits::text_bytes)
          refuse(where, "the strings are too long", "at most 64 MiB", text_of({bytes, " bytes"}),
                 remedies_.save);
        made.push_back(heap_text(heap, index, length, where));
      } else {
        std::string text = from.text(type.bytes);  // a message has at most 64 KiB
        text.resize(strnlen(text.data(), text.size()));
        made.push_back(std::move(text));
      }
    }
    return made;
  }
  return {};
}

std::optional<std::string> hdf5_file::text(std::string const& object, std::string const& attribute) const {
  auto made = list(object, attribute);
  if (!made || made->size() != 1) return {};
  return std::move(made->front());
}

std::vector<std::string> hdf5_file::texts(std::string const& object, std::string const& attribute) const {
  if (auto made = list(object, attribute)) return std::move(*made);
  std::vector<std::string> all;
  for (std::size_t chunk = 0; chunk < hdf5_limits::chunks; ++chunk) {
    auto const made = list(object, attribute + std::to_string(chunk));
    if (!made) break;
    all.insert(all.end(), made->begin(), made->end());
  }
  return all;
}

std::size_t hdf5_file::members(std::string const& path) const {
  group const* const found = group_at(required(path, "object"));
  if (!found) refuse(path, "this is not a group", "a group", "an array", remedies_.complete);
  return found->size();
}

namespace hdf5_numbers {

/// Converts an IEEE 754 half-precision number to f32.
inline float widened(std::uint16_t half) {
  std::uint32_t const sign = std::uint32_t{half & 0x8000U} << 16, exponent = half >> 10 & 31U,
                      rest = half & 1023U;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000U | rest << 13);
  if (exponent > 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | rest << 13);
  float const small = static_cast<float>(rest) * 0x1p-24F;
  return sign != 0 ? -small : small;
}

template <class T>
void widen(std::string const& from, std::vector<float>& to) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    T one{};
    std::memcpy(&one, from.data() + i * sizeof(T), sizeof(T));
    to[i] = static_cast<float>(one);
  }
}

inline void convert(hdf5_type const& type, std::string const& from, std::vector<float>& to) {
  bool const is_signed = type.is_signed;
  if (type.is == hdf5_type::kind::floating) {
    if (type.bytes == 8) return widen<double>(from, to);
    for (std::size_t i = 0; i < to.size(); ++i) {
      std::uint16_t one{};
      std::memcpy(&one, from.data() + 2 * i, 2);
      to[i] = widened(one);
    }
    return;
  }
  switch (type.bytes) {
    case 1:
      return is_signed ? widen<std::int8_t>(from, to) : widen<std::uint8_t>(from, to);
    case 2:
      return is_signed ? widen<std::int16_t>(from, to) : widen<std::uint16_t>(from, to);
    case 4:
      return is_signed ? widen<std::int32_t>(from, to) : widen<std::uint32_t>(from, to);
    default:
      return is_signed ? widen<std::int64_t>(from, to) : widen<std::uint64_t>(from, to);
  }
}

}  // namespace hdf5_numbers

hdf5_array hdf5_file::array(std::string const& path) const {
  messages const all = object_at(required(path, "array"));
  auto const find_message = [&](int type) -> message const* {
    auto const found = std::ranges::find(all, type, &message::type);
    return found == all.end() ? nullptr : &*found;
  };
  message const* const space = find_message(hdf5_message::dataspace);
  message const* const elements = find_message(hdf5_message::datatype);
  message const* const layout = find_message(hdf5_message::layout);
  if (!space || !elements || !layout)
    refuse(path, "this is not an array", "an object with shape, type and layout", "a group or another object",
           remedies_.complete);
  block shape_from(*this, space->at, space->body), type_from(*this, elements->at, elements->body),
      layout_from(*this, layout->at, layout->body);
  if (space->is_shared || elements->is_shared || layout->is_shared)
    refuse(path, "the array refers to a shared type", "a type in the object's header", "a reference",
           remedies_.save);
  hdf5_array made{.type = type_of(type_from), .extents = extents_of(shape_from)};
  if (made.type.is != hdf5_type::kind::floating && made.type.is != hdf5_type::kind::integer)
    refuse(path, "the array has elements of another type",
           "little-endian integers, or floating-point numbers of 2, 4 or 8 bytes",
           text_of({"another type of ", made.type.bytes, " bytes"}), remedies_.save);
  std::uint64_t const version = layout_from.number(1), kind = layout_from.number(1);
  if ((version != 3 && version != 4) || kind > 2 || (kind == 2 && version != 3)
      || (kind != 2 && find_message(hdf5_message::filters)) || find_message(hdf5_message::external))
    refuse(path, "the array has another layout, or is in another file",
           "a contiguous or chunked array, as h5py writes it by default",
           text_of({"layout ", kind, " of version ", version}), remedies_.save);
  if (kind == 2) {
    read_chunks_layout(layout_from, path, made);
    if (message const* const filters = find_message(hdf5_message::filters))
      made.filters = filters_of(*filters, path);
    if (message const* const fill = find_message(hdf5_message::fill))
      made.fill = fill_of(*fill, path, made.type);
    return made;
  }
  if (kind == 0) {  // the data follow
    made.bytes = layout_from.number(2);
    made.first = layout_from.at();
  } else {
    made.first = layout_from.number(8);
    made.bytes = layout_from.number(8);
  }
  std::uint64_t count = 1;
  for (std::uint64_t const extent : made.extents)
    count = extent > size_ || count > size_ ? size_ + 1 : count * extent;
  bool const is_stored = count <= size_ && made.bytes == count * made.type.bytes
                         && (kind == 0 ? made.bytes <= layout_from.left()
                                       : made.first <= size_ && made.bytes <= size_ - made.first);
  if (!is_stored)
    refuse(path, "the array's data is missing or incomplete",
           text_of({keras_text(made.extents), " with ", made.type.bytes,
                    " bytes for each element inside the file"}),
           text_of({made.bytes, " bytes"}), remedies_.save);
  return made;
}

void hdf5_file::read_chunks_layout(block& from, std::string const& path, hdf5_array& to) const {
  std::uint64_t const rank = from.number(1);  // the last extent is the size of an element
  to.first = from.number(8);
  for (std::uint64_t axis = 0; axis < rank; ++axis) to.chunk.push_back(from.number(4));
  std::uint64_t bytes = 1;
  for (std::uint64_t const extent : to.chunk)
    bytes *= std::min<std::uint64_t>(extent, bytes > 0 ? hdf5_limits::chunk_bytes / bytes + 1 : 1);
  if (rank != to.extents.size() + 1 || rank < 2 || to.chunk.back() != to.type.bytes || bytes == 0
      || bytes > hdf5_limits::chunk_bytes)
    refuse(path, "the extents of the array's chunks are damaged",
           text_of({to.extents.size(), " extents and ", to.type.bytes,
                    " bytes for each element, at most 4 GiB in all"}),
           keras_text(to.chunk), remedies_.save);
  to.chunk.pop_back();
  to.bytes = to.type.bytes;
  for (std::uint64_t const extent : to.extents) {
    constexpr std::uint64_t most = std::uint64_t{1} << 62;
    if (extent > 0 && to.bytes > most / extent)
      refuse(path, "the array's extents are damaged", "less than 2^62 bytes", keras_text(to.extents),
             remedies_.save);
    to.bytes *= extent;
  }
}

std::vector<std::uint64_t> hdf5_file::filters_of(message const& stored, std::string const& path) const {
  block from(*this, stored.at, stored.body);
  std::uint64_t const version = from.version("a list of filters", 1, 2), count = from.number(1);
  if (version == 1) from.skip(6);
  std::vector<std::uint64_t> filters;
  for (std::uint64_t k = 0; k < count; ++k) {
    std::uint64_t const filter = from.number(2);
    std::uint64_t const name = version == 1 || filter >= 256 ? from.number(2) : 0;
    from.skip(2);
    std::uint64_t const values = from.number(2);
    from.skip(static_cast<std::size_t>(name + 4 * (values + (version == 1 ? values % 2 : 0))));
    filters.push_back(filter);
  }
  auto next = filters.begin();
  auto const accept = [&](std::uint64_t filter) {
    if (next == filters.end() || *next != filter) return false;
    ++next;
    return true;
  };
  accept(hdf5_filter::shuffle);
  if (!accept(hdf5_filter::deflate)) accept(hdf5_filter::lzf);
  accept(hdf5_filter::fletcher32);
  if (next != filters.end()) {
    std::string names;
    for (std::uint64_t const filter : filters)
      names += (names.empty() ? "" : ", ") + hdf5_filter::name_of(filter);
    refuse(path, "the array's chunks have a filter that is not read",
           "shuffle, deflate (gzip) or lzf, fletcher32, in this order", names, remedies_.save);
  }
  return filters;
}

/// Returns the bytes of the value of unwritten elements.
std::optional<std::uint64_t> hdf5_file::fill_of(message const& stored, std::string const& path,
                                                hdf5_type const& type) const {
  block from(*this, stored.at, stored.body);
  std::uint64_t const version = from.number(1);
  if (version < 1 || version > 3)
    refuse(path, "the version of a fill value is unknown", "1, 2 or 3", text_of({version}), remedies_.save);
  std::uint64_t when = 0;  // the value is written: on allocation, never, only if the user has set it
  bool is_undefined = false, has_value = true;
  if (version == 3) {
    std::uint64_t const flags = from.number(1);
    when = flags >> 2 & 3;
    is_undefined = (flags & 0x10) != 0;
    has_value = (flags & 0x20) != 0;
  } else {
    from.skip(1);
    when = from.number(1);
    is_undefined = from.number(1) == 0;
  }
  if (is_undefined || when == 1) return {};
  std::uint64_t const bytes = has_value ? from.number(4) : 0;
  if (bytes == 0) return 0;
  if (bytes != type.bytes)
    refuse(path, "a fill value is damaged", text_of({type.bytes, " bytes, as an element"}), text_of({bytes}),
           remedies_.save);
  return from.number(type.bytes);
}

std::vector<hdf5_chunk> hdf5_file::chunks(std::string const& path, hdf5_array const& of) const {
  std::size_t const rank = of.chunk.size(), entry_bytes = 8 + 8 * (rank + 1) + 8;
  std::vector<std::uint64_t> along(rank);  // chunks along each axis
  std::uint64_t const most = size_ / entry_bytes + hdf5_limits::unwritten_chunks;
  std::uint64_t total = 1, content = of.type.bytes;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    along[axis] = of.extents[axis] / of.chunk[axis] + (of.extents[axis] % of.chunk[axis] > 0 ? 1 : 0);
    total = along[axis] > 0 && total > most / along[axis] ? most + 1 : total * along[axis];
    content *= of.chunk[axis];
  }
  constexpr char const* remedy = "write all rows, or shorten the array (resize)";
  std::vector<hdf5_chunk> found;
  if (total == 0) return found;
  if (total > most)
    refuse(path, "the array has more chunks than the file can contain",
           text_of({"at most ", most, " chunks"}), "more", remedy);
  found.resize(static_cast<std::size_t>(total));
  std::uint64_t entries = 0, stored = 0;
  auto const add = [&](block& entry) {
    std::uint64_t const begin_of_entry = entry.at(), bytes = entry.number(4), mask = entry.number(4);
    std::uint64_t number = 0;
    bool is_inside = true;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      std::uint64_t const begin = entry.number(8);
      is_inside = is_inside && begin % of.chunk[axis] == 0 && begin / of.chunk[axis] < along[axis];
      number = number * along[axis] + begin / of.chunk[axis];
    }
    entry.skip(8);
    hdf5_chunk chunk{.first = entry.number(8), .bytes = bytes};
    for (std::size_t k = 0; k < of.filters.size(); ++k)
      if ((mask >> k & 1) == 0)
        (of.filters[k] == hdf5_filter::deflate      ? chunk.is_deflated
         : of.filters[k] == hdf5_filter::lzf        ? chunk.is_lzf
         : of.filters[k] == hdf5_filter::fletcher32 ? chunk.has_fletcher32
                                                    : chunk.is_shuffled) = true;
    constexpr std::uint64_t most_ratio = 1032;
    bool const has_size = chunk.is_deflated || chunk.is_lzf
                              ? content / most_ratio <= bytes
                              : content + (chunk.has_fletcher32 ? 4 : 0) == bytes;
    bool const is_stored =
        bytes > 0 && chunk.first <= size_ && bytes <= size_ - chunk.first && (stored += bytes) <= size_;
    if (!is_inside || !has_size || !is_stored || found[static_cast<std::size_t>(number)].bytes > 0)
      refuse_at(begin_of_entry, text_of({"a chunk of ", path, " is damaged"}),
                "chunks inside the array and the file, each once",
                text_of({bytes, " bytes at byte ", chunk.first}));
    found[static_cast<std::size_t>(number)] = chunk;
    ++entries;
  };
  if (of.first != ~std::uint64_t{0}) for_each_entry(of.first, 1, entry_bytes, add);
  if (entries < total && !of.fill)
    refuse(path, "chunks of the array were never written", text_of({total, " chunks, or a fill value"}),
           text_of({entries, " written chunks"}), remedy);
  return found;
}

keras_array hdf5_file::read(std::string const& path, std::vector<int> const& dims) const {
  hdf5_array const from = array(path);
  if (!from.chunk.empty())
    refuse(path, "the array is chunked or compressed", "a contiguous array, as Keras writes it", "chunks",
           remedies_.save);
  bool const is_same = std::ranges::equal(from.extents, dims, [](std::uint64_t one, int wanted) {
    return wanted >= 0 && one == static_cast<std::uint64_t>(wanted);
  });
  if (!is_same)
    refuse(path, "the array's shape differs from the layer's", keras_text(dims), keras_text(from.extents),
           remedies_.complete);
  hdf5_type const& type = from.type;
  keras_array made{.dims = dims,
                   .values = std::vector<float>(static_cast<std::size_t>(from.bytes / type.bytes))};
  if (type.is == hdf5_type::kind::floating && type.bytes == 4) {
    read_into(made.values.data(), from.first, static_cast<std::size_t>(from.bytes));
    return made;
  }
  std::string raw(static_cast<std::size_t>(from.bytes), '\0');
  read_into(raw.data(), from.first, raw.size());
  hdf5_numbers::convert(type, raw, made.values);
  return made;
}

hdf5_weights::hdf5_weights(hdf5_file const& file) : file_(file) {
  if (file.has("layers") || file.has("_layer_checkpoint_dependencies")) {
    has_paths_ = true;
    old_paths_ = !file.has("layers");
    return;
  }
  group_ = file.has("model_weights") ? "model_weights" : "/";
}

std::string hdf5_weights::path_of(std::string const& object_path) const {
  if (!old_paths_) return object_path + "/vars";
  std::string made = object_path;
  for (std::size_t at = made.find("layers/"); at != std::string::npos; at = made.find("/layers/", at)) {
    if (made[at] == '/') ++at;
    made.replace(at, 6, "_layer_checkpoint_dependencies");
  }
  return made + "/vars";
}

std::optional<std::size_t> hdf5_weights::count_of(std::string const& object_path) const {
  std::string const path = path_of(object_path);
  if (!file_.has(path)) return {};
  return file_.members(path);
}

keras_array hdf5_weights::read(std::string const& object_path, std::size_t index,
                               std::vector<int> const& dims) const {
  return file_.read(path_of(object_path) + '/' + std::to_string(index), dims);
}

std::vector<std::string> const& hdf5_weights::names_in(std::string const& layer) const {
  auto const known = names_.find(layer);
  if (known != names_.end()) return known->second;
  std::string const path = group_ == "/" ? layer : group_ + '/' + layer;
  std::vector<std::string> names = file_.texts(path, "weight_names");
  for (std::string& name : names) name = path + '/' + name;
  return names_.emplace(layer, std::move(names)).first->second;
}

std::size_t hdf5_weights::count_in_group(std::string const& layer) const { return names_in(layer).size(); }

keras_array hdf5_weights::read_in_group(std::string const& layer, std::size_t number,
                                        std::vector<int> const& dims) const {
  return file_.read(names_in(layer).at(number), dims);
}

}  // namespace cohort::detail
