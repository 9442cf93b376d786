// SPDX-License-Identifier: Apache-2.0
// Files of records, from the command line: cohort data --help
#include <unistd.h>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/crc32c.hpp>
#include <cohort/io/data_folders.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/records/caffe_datum.hpp>
#include <cohort/records/caffe_on_spark.hpp>
#include <cohort/records/lmdb.hpp>
#include <cohort/records/npy_rows.hpp>
#include <cohort/records/record_set.hpp>
#include <cohort/records/record_writer.hpp>
#include <cohort/records/sequence_file.hpp>
#include <cohort/records/table_rows.hpp>
#include <cohort/records/tfrecord.hpp>
#include <cohort/records/webdataset.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>
#if __has_include(<cohort/hdf5_rows.hpp>)
#include <cohort/hdf5_rows.hpp>
#define HAS_KERAS 1
#endif
#if __has_include(<cohort/zlib.hpp>)
#include <cohort/zlib.hpp>
#define HAS_ZLIB 1
#endif
#include "commands.hpp"
#include "names_in.hpp"
#include "pack.hpp"

namespace {

using cohort_program::list_of;

constexpr char const* help =
    R"(Indexes, shows, verifies and converts files of records and tables.

  cohort data index FILE...                makes the index of each file and keeps it in the cache
  cohort data inspect FILE... [flags]      prints fields, sizes and one record
  cohort data verify FILE... [flags]       reads all records and reports the damaged ones
  cohort data convert FILE... --to OUT     writes the records to a .tar or .tfrecord file
  cohort data pack FROM TO [FILES]         packs folders of images into archives of FILES images (500)

pack: FROM contains the folders train and test (or val) with one folder of images per class, or TinyImageNet as
distributed: training images in train/CLASS/images, test images in val/images, and their classes in
val/val_annotations.txt. The archives are in TO/train and TO/test, in one random order. FROM/words.txt, the names
of the classes, is copied to TO.

Other commands: FILE is the path of a file, the folder of an LMDB database, or a series: "train-{000000..000146}.tar".

  --format F     webdataset, tfrecord, lmdb, sequence_file, npy, npz, hdf5 or csv (a table of comma- or
                 tab-separated values); by default, what the name and the first bytes show
  --arrays A,B   hdf5, npz: the paths or names of the arrays; by default, all arrays of a .npz file
  --cache DIR    the folder of the indices; "" for no cache. By default, that of the library
  --record N     inspect: the record to print (0)
  --decode M     inspect, verify: reads each record also as a message: caffe, example or caffe_on_spark
  --to OUT       convert: the file to write; it must not exist. {} in its name is replaced by the number of
                 the shard. Records without a key of their own have their number as key in a .tar file;
                 their former key, if it is not a valid name or is repeated, is the field key.txt
  --shard N      convert: the number of records in each shard
  --field NAME   convert: writes only this field
  --skip         convert: omits damaged records and reports them, instead of ending
  --quiet        prints no progress
  --help         prints this text

Exit status: 0; 1 after an error, or if verify has found damaged records; 2 for an invalid command.
)";

std::vector<std::string> const formats{"webdataset", "tfrecord", "lmdb", "sequence_file",
                                       "npy",        "npz",      "hdf5", "csv"};

/// Thrown for an invalid command.
struct usage_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct command {
  std::string verb;
  std::vector<std::string> paths;
  std::string format, decode, to, field;
  std::vector<std::string> arrays;
  std::string cache = cohort::io::cache_folder("indices");
  std::int64_t record = 0;
  std::int64_t shard = 0;
  bool skip = false, quiet = false, prints_help = false;
};

/// Parses an integer of the type Number that is at least `least`.
template <class Number>
Number whole_number(std::string const& flag, std::string const& text, Number least) {
  Number value = 0;
  auto const [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range)
    throw usage_error(flag + ": expected a whole number up to "
                      + std::to_string(std::numeric_limits<Number>::max()) + ", got '" + text + "'");
  if (error != std::errc{} || stop != text.data() + text.size() || value < least)
    throw usage_error(flag + ": expected a whole number from " + std::to_string(least) + ", got '" + text
                      + "'");
  return value;
}

std::string one_of(std::string const& flag, std::string const& text, std::vector<std::string> const& known) {
  if (std::ranges::find(known, text) != known.end()) return text;
  throw usage_error(flag + ": expected one of " + list_of(known) + "; got '" + text + "'");
}

command parse(int argc, char** argv) {
  command made;
  std::vector<std::string> const verbs{"index", "inspect", "verify", "convert", "pack"};
  std::set<std::string> const readers{"index", "inspect", "verify", "convert"};
  // The commands that accept each flag. All commands accept the flags that are not listed.
  std::map<std::string, std::set<std::string>> const accepted{
      {"--record", {"inspect"}}, {"--decode", {"inspect", "verify"}},
      {"--to", {"convert"}},     {"--shard", {"convert"}},
      {"--field", {"convert"}},  {"--skip", {"convert"}},
      {"--format", readers},     {"--arrays", readers},
      {"--cache", readers}};
  std::vector<std::string> flags;
  for (int k = 1; k < argc; ++k) {
    std::string const given = argv[k];
    auto const value = [&]() -> std::string {
      if (k + 1 == argc) throw usage_error(given + ": expected a value, got none");
      return argv[++k];
    };
    if (given.starts_with("--")) flags.push_back(given);
    if (given == "--help") {
      made.prints_help = true;
    } else if (given == "--format") {
      made.format = one_of(given, value(), formats);
    } else if (given == "--arrays") {
      made.arrays = cohort_program::names_in(value());
    } else if (given == "--cache") {
      made.cache = value();
    } else if (given == "--record") {
      made.record = whole_number<std::int64_t>(given, value(), 0);
    } else if (given == "--decode") {
      made.decode = one_of(given, value(), {"caffe", "example", "caffe_on_spark"});
    } else if (given == "--to") {
      made.to = value();
    } else if (given == "--shard") {
      made.shard = whole_number<std::int64_t>(given, value(), 1);
    } else if (given == "--field") {
      made.field = value();
    } else if (given == "--skip") {
      made.skip = true;
    } else if (given == "--quiet") {
      made.quiet = true;
    } else if (given.starts_with("-")) {
      throw usage_error("unknown flag '" + given + "'; --help lists the flags");
    } else if (made.verb.empty()) {
      made.verb = one_of("command", given, verbs);
    } else if (made.verb == "pack") {
      made.paths.push_back(given);
    } else {
      for (std::string const& path : cohort::numbered_paths(given)) made.paths.push_back(path);
    }
  }
  if (made.prints_help) return made;
  if (made.verb.empty())
    throw usage_error("expected index, inspect, verify, convert or pack, got nothing; --help describes them");
  for (std::string const& flag : flags)
    if (auto const found = accepted.find(flag); found != accepted.end() && !found->second.contains(made.verb))
      throw usage_error("the command " + made.verb + " has no flag " + flag + "; --help lists the flags");
  if (made.verb != "pack" && made.paths.empty()) throw usage_error("expected files, got none");
  return made;
}

/// Returns the name of a file's format, detected from its first bytes and its path.
std::string detected(std::string const& path) {
  cohort::io::file_reader file(path);
  char begin[512]{};
  std::size_t const bytes = file.read(begin, sizeof begin);
  std::string_view const seen(begin, bytes);
  auto const word = [&](std::size_t at) {
    std::uint32_t found = 0;
    std::memcpy(&found, begin + at, sizeof found);
    return found;
  };
  if (seen.starts_with("SEQ")) return "sequence_file";
  if (seen.starts_with("\x93NUMPY")) return "npy";
  if (seen.starts_with("PK\3\4") && path.ends_with(".npz")) return "npz";
  if (seen.starts_with("\x89HDF\r\n\x1a\n")) return "hdf5";
  if (word(16) == 0xbeefc0de) return "lmdb";
  if (seen.size() == sizeof begin && seen.substr(257, 5) == "ustar") return "webdataset";
  std::uint32_t const crc = cohort::io::crc32c(cohort::machine_isa(), std::as_bytes(std::span(begin, 8)));
  if (bytes >= 12 && word(8) == (crc >> 15 | crc << 17) + 0xa282ead8U) return "tfrecord";
  if (path.ends_with(".tar")) return "webdataset";
  if (path.ends_with(".csv") || path.ends_with(".tsv")) return "csv";
  if (path.ends_with(".tfrecord") || path.ends_with(".tfrecords")) return "tfrecord";
  throw usage_error(path + ": expected a file of a known format, or the flag --format, got other bytes");
}

cohort::record_format format_named(std::string const& name, std::vector<std::string> const& arrays) {
  if (!arrays.empty() && name != "npz" && name != "hdf5")
    throw usage_error("--arrays: expected files of the format hdf5 or npz, got " + name);
  if (name == "webdataset") return cohort::webdataset();
  if (name == "tfrecord") return cohort::tfrecord();
  if (name == "lmdb") return cohort::lmdb();
  if (name == "npy") return cohort::npy_rows();
  if (name == "hdf5" && arrays.empty())
    throw usage_error(
        "--arrays: expected the paths of arrays in the HDF5 files, such as data,label; got none");
#if HAS_ZLIB
  cohort::io::inflater const inflate = cohort::gzip::inflate;
#else
  cohort::io::inflater const inflate{};
#endif
  if (name == "npz") return cohort::npz_rows(arrays, inflate);
#if HAS_KERAS
  if (name == "hdf5") return cohort::hdf5_rows(arrays, inflate);
#else
  if (name == "hdf5")
    throw usage_error("hdf5: expected a build with the component keras, got one without it (COHORT_KERAS)");
#endif
  return cohort::sequence_file(inflate);
}

/// Shows progress: one line that is rewritten on a terminal, otherwise a line every ten seconds.
class progress {
 public:
  progress(bool quiet, char const* what, std::int64_t total) : quiet_(quiet), what_(what), total_(total) {}
  progress(progress const&) = delete;
  progress& operator=(progress const&) = delete;
  ~progress() { clear(); }

  void clear() {
    if (drawn_ && is_terminal_) std::fputs("\r\x1b[K", stderr);
    drawn_ = false;
  }

  void show(std::int64_t done) {
    auto const now = clock::now();
    if (quiet_ || now - last_ < (is_terminal_ ? std::chrono::milliseconds(100) : std::chrono::seconds(10)))
      return;
    last_ = now;
    drawn_ = true;
    std::fprintf(stderr, is_terminal_ ? "\r\x1b[K%s: %lld of %lld (%d %%)" : "%s: %lld of %lld (%d %%)\n",
                 what_, static_cast<long long>(done), static_cast<long long>(total_),
                 static_cast<int>(total_ > 0 ? 100 * done / total_ : 100));
    std::fflush(stderr);
  }

 private:
  using clock = std::chrono::steady_clock;
  bool quiet_, is_terminal_ = ::isatty(2) != 0, drawn_ = false;
  char const* what_;
  std::int64_t total_;
  clock::time_point last_ = clock::now();
};

struct opened {
  std::string format;
  cohort::record_set records;
};

/// Detects the format of a command's files, unless the command contains it. All files must have the same
/// format.
void find_format(command& given) {
  std::string format = given.format;
  for (std::string& path : given.paths) {
    path = cohort::lmdb_file(path);
    if (!given.format.empty()) continue;
    std::string const found = detected(path);
    if (!format.empty() && found != format)
      throw usage_error("expected files of one format, got " + format + " and " + found + " (" + path + ")");
    format = found;
  }
  given.format = format;
}

/// Opens the files of a command.
opened open(command& given) {
  // Shows the number of files indexed so far. Files whose index is in the cache do not count.
  cohort::record_format how = format_named(given.format, given.arrays);
  auto const shown = std::make_shared<progress>(given.quiet, "files indexed", std::ssize(given.paths));
  auto const done = std::make_shared<std::int64_t>(0);
  how.index = [index = how.index, shown, done](std::string const& path) {
    cohort::record_index made = index(path);
    shown->show(++*done);
    return made;
  };
  opened made{given.format, cohort::record_set(given.paths, how, {.cache = given.cache})};
  shown->clear();
  return made;
}

std::string joined(std::vector<std::string> const& names) {
  return list_of(names, [](std::string const& name) { return name.empty() ? "(no name)" : name; });
}

/// Returns the first bytes of a field: as text if they are printable ASCII, otherwise as hexadecimal numbers.
std::string preview(std::span<std::byte const> bytes) {
  constexpr std::size_t most = 64;
  std::span<std::byte const> const shown = bytes.first(std::min(bytes.size(), most));
  bool const is_text = std::ranges::all_of(shown, [](std::byte one) {
    auto const code = std::to_integer<int>(one);
    return (code >= ' ' && code < 127) || code == '\n' || code == '\t' || code == '\r';
  });
  std::string made = is_text ? "\"" : "";
  for (std::byte const one : shown) {
    auto const code = std::to_integer<unsigned>(one);
    char text[8];
    if (!is_text)
      std::snprintf(text, sizeof text, made.empty() ? "%02x" : " %02x", code);
    else if (code == '\n' || code == '\t' || code == '\r')
      std::snprintf(text, sizeof text, code == '\n' ? "\\n" : code == '\t' ? "\\t" : "\\r");
    else
      std::snprintf(text, sizeof text, code == '"' || code == '\\' ? "\\%c" : "%c", static_cast<char>(code));
    made += text;
  }
  if (is_text) made += '"';
  return shown.size() < bytes.size() ? made + " ..." : made;
}

/// Decodes a record as a message of this kind. Returns a description of its contents.
std::string decoded(cohort::record_set const& records, std::int64_t record, std::string const& message) {
  std::vector<std::byte> memory;
  std::string const where = records.where(record);
  auto const read = [&](std::size_t field) { return records.read(record, field, memory); };
  auto const field_of_values = [&]() -> std::size_t {
    for (char const* name : {"value", "record"})
      if (std::ranges::find(records.fields(), name) != records.fields().end()) return records.field(name);
    return records.fields().size() == 1 ? 0 : records.field("value");
  };
  char text[400];
  if (message == "caffe") {
    cohort::caffe_datum const one = cohort::caffe_datum::parse(read(field_of_values()), where);
    std::snprintf(text, sizeof text, "Datum %dx%dx%d, label %d, %zu %s", one.channels, one.height, one.width,
                  one.label, one.numbers.empty() ? one.data.size() : one.numbers.size(),
                  !one.numbers.empty() ? "floats"
                  : one.encoded        ? "bytes of an image file"
                                       : "bytes");
    return text;
  }
  if (message == "caffe_on_spark") {
    auto const one = cohort::caffe_on_spark_key::parse(read(records.field("key")), where);
    std::snprintf(text, sizeof text, "id %.100s, label %.100s, %dx%dx%d, %s", one.id.c_str(),
                  one.label.c_str(), one.channels, one.height, one.width,
                  one.encoded ? "encoded" : "not encoded");
    return text;
  }
  std::string made = "Example:";
  for (auto const& [name, feature] : cohort::tf_example(read(field_of_values()), where)) {
    std::size_t const bytes = feature.bytes.size(), floats = feature.floats.size(),
                      integers = feature.integers.size();
    std::snprintf(text, sizeof text, " %.100s (%zu %s)", name.c_str(), bytes + floats + integers,
                  bytes > 0    ? "byte strings"
                  : floats > 0 ? "floats"
                               : "integers");
    made += text;
  }
  return made;
}

/// Returns the number of files and their format: "2 files (lmdb)".
std::string files_of(command const& given) {
  std::size_t const count = given.paths.size();
  return std::to_string(count) + (count == 1 ? " file (" : " files (") + given.format + ")";
}

int index(command& given) {
  opened const all = open(given);
  std::printf("%s, %lld records, fields: %s\n", files_of(given).c_str(),
              static_cast<long long>(all.records.size()), joined(all.records.fields()).c_str());
  return 0;
}

int inspect(command& given) {
  opened const all = open(given);
  cohort::record_set const& records = all.records;
  std::printf("%s, %lld records\n", files_of(given).c_str(), static_cast<long long>(records.size()));
  for (std::size_t field = 0; field < records.fields().size(); ++field) {
    std::uint64_t least = ~std::uint64_t{0}, most = 0, sum = 0;
    std::int64_t count = 0;
    for (std::int64_t record = 0; record < records.size(); ++record) {
      if (!records.has(record, field)) continue;
      std::uint64_t const bytes = records.stored_bytes(record, field);
      least = std::min(least, bytes);
      most = std::max(most, bytes);
      sum += bytes;
      ++count;
    }
    std::string const& name = records.fields()[field];
    std::printf("field %s: %lld records", name.empty() ? "(no name)" : name.c_str(),
                static_cast<long long>(count));
    if (count > 0)
      std::printf(", %llu to %llu bytes, %llu in total", static_cast<unsigned long long>(least),
                  static_cast<unsigned long long>(most), static_cast<unsigned long long>(sum));
    std::printf("\n");
  }
  if (records.size() == 0) return 0;
  if (given.record >= records.size())
    throw usage_error("--record: expected 0 to " + std::to_string(records.size() - 1) + ", got "
                      + std::to_string(given.record));
  std::printf("%s\n", records.where(given.record).c_str());
  std::vector<std::byte> memory;
  for (std::size_t field = 0; field < records.fields().size(); ++field) {
    if (!records.has(given.record, field)) continue;
    std::span<std::byte const> const bytes = records.read(given.record, field, memory);
    std::string const& name = records.fields()[field];
    std::printf("  %s: %zu bytes: %s\n", name.empty() ? "(no name)" : name.c_str(), bytes.size(),
                preview(bytes).c_str());
  }
  if (!given.decode.empty()) std::printf("  %s\n", decoded(records, given.record, given.decode).c_str());
  return 0;
}

int verify(command& given) {
  opened const all = open(given);
  cohort::record_set const& records = all.records;
  progress shown(given.quiet, "records verified", records.size());
  std::vector<std::byte> memory;
  std::uint64_t bytes = 0;
  std::int64_t damaged = 0;
  for (std::int64_t record = 0; record < records.size(); ++record) {
    try {
      for (std::size_t field = 0; field < records.fields().size(); ++field)
        if (records.has(record, field)) bytes += records.read(record, field, memory).size();
      if (!given.decode.empty()) decoded(records, record, given.decode);
    } catch (cohort::data_error const& problem) {
      ++damaged;
      std::fprintf(stderr, "cohort data: %s\n", problem.what());
    }
    shown.show(record + 1);
  }
  std::printf("%s, %lld records, %llu bytes, %lld damaged\n", files_of(given).c_str(),
              static_cast<long long>(records.size()), static_cast<unsigned long long>(bytes),
              static_cast<long long>(damaged));
  return damaged > 0 ? 1 : 0;
}

/// Returns whether a WebDataset can contain a record with this key.
bool names_a_record(std::string_view key) {
  std::string_view const name = key.substr(key.rfind('/') + 1);
  return !name.empty() && name.find('.') == name.npos && !name.starts_with("__") && !key.starts_with("./")
         && std::ranges::all_of(key, [](unsigned char one) { return one >= ' '; });
}

/// Writes records to one file, whose name determines the format.
class destination {
 public:
  destination(std::string const& path, cohort::record_set const& records, std::vector<std::size_t> fields)
      : records_(records), fields_(std::move(fields)) {
    if (std::filesystem::exists(path))
      throw usage_error("--to: expected a file that does not exist, got " + path);
    if (!path.ends_with(".tar")) {
      file_.emplace(path);
      return;
    }
    for (std::size_t const field : fields_) {
      std::string name = records.fields()[field];
      for (char& one : name)
        one = one == '/' ? '.' : one >= 'A' && one <= 'Z' ? static_cast<char>(one - 'A' + 'a') : one;
      if (name.empty()) name = "bin";
      if (name == "key.txt" || std::ranges::find(names_, name) != names_.end())
        throw usage_error(
            "--field: expected fields with different names in the archive other than key.txt, got " + name
            + " for the field " + records.fields()[field]);
      names_.push_back(std::move(name));
    }
    archive_.emplace(path);
  }

  /// Reads all fields of a record before any field is written, so that nothing of a damaged record is written
  /// to the file. Returns whether the record has at least one of the fields.
  ///
  /// Errors    data_error for a damaged record.
  bool read(std::int64_t record) {
    contents_.resize(fields_.size());
    bool has_field = false;
    for (std::size_t k = 0; k < fields_.size(); ++k)
      if (records_.has(record, fields_[k])) {
        has_field = true;
        auto const bytes = records_.read(record, fields_[k], memory_);
        contents_[k].assign(bytes.begin(), bytes.end());
      }
    return has_field;
  }

  /// Writes the record that was read.
  void write(std::int64_t record) {
    if (file_) {
      for (std::size_t k = 0; k < fields_.size(); ++k)
        if (records_.has(record, fields_[k])) file_->add(contents_[k]);
      return;
    }
    std::string_view const given = records_.key(record);
    bool const keeps_key = names_a_record(given) && !keys_.contains(given);
    char number[32];
    std::snprintf(number, sizeof number, "%09lld", static_cast<long long>(record));
    std::string key(keeps_key ? given : std::string_view(number));
    while (!keys_.insert(key).second) key += '_';  // an earlier record has this key
    if (!keeps_key && !given.empty())
      archive_->add(key, "key.txt", std::as_bytes(std::span(given.data(), given.size())));
    for (std::size_t k = 0; k < fields_.size(); ++k)
      if (records_.has(record, fields_[k])) archive_->add(key, names_[k], contents_[k]);
  }

  void commit() {
    if (archive_) archive_->commit();
    if (file_) file_->commit();
  }

 private:
  cohort::record_set const& records_;
  std::vector<std::size_t> fields_;
  std::optional<cohort::webdataset_writer> archive_;
  std::optional<cohort::tfrecord_writer> file_;
  std::vector<std::vector<std::byte>> contents_;
  std::vector<std::byte> memory_;
  std::vector<std::string> names_;             // names of the fields in an archive
  std::set<std::string, std::less<>> keys_{};  // keys of the records in the archive
};

int convert(command& given) {
  bool const is_tar = given.to.ends_with(".tar"),
             is_tfrecord = given.to.ends_with(".tfrecord") || given.to.ends_with(".tfrecords");
  if (!is_tar && !is_tfrecord)
    throw usage_error("--to: expected a name that ends in .tar or .tfrecord, got '" + given.to + "'");
  std::size_t const braces = given.to.find("{}");
  if ((braces != std::string::npos) != (given.shard > 0))
    throw usage_error("--to and --shard: expected {} in the name and a number of records, or neither");
  opened const all = open(given);
  cohort::record_set const& records = all.records;
  std::vector<std::size_t> fields;
  for (std::size_t k = 0; k < records.fields().size(); ++k)
    if (given.field.empty() || records.fields()[k] == given.field) fields.push_back(k);
  if (!given.field.empty() && fields.empty()) records.field(given.field);  // throws
  if (is_tfrecord && fields.size() != 1)
    throw usage_error("--field: expected one of the fields for a TFRecord file (" + joined(records.fields())
                      + "), got none");

  std::optional<destination> to;
  std::int64_t files = 0, in_file = 0, written = 0, skipped = 0, without_field = 0;
  auto const next_file = [&] {
    std::string path = given.to;
    if (braces != std::string::npos) {
      char number[32];
      std::snprintf(number, sizeof number, "%06lld", static_cast<long long>(files));
      path.replace(braces, 2, number);
    }
    to.emplace(path, records, fields);
    ++files;
    in_file = 0;
  };
  next_file();
  progress shown(given.quiet, "records converted", records.size());
  for (std::int64_t record = 0; record < records.size(); ++record) {
    if (given.shard > 0 && in_file == given.shard) {
      to->commit();
      next_file();
    }
    bool has_field = false;
    try {
      has_field = to->read(record);
      if (!has_field) ++without_field;
    } catch (cohort::data_error const& problem) {
      if (!given.skip) throw;
      ++skipped;
      std::fprintf(stderr, "cohort data: skipped: %s\n", problem.what());
    }
    if (has_field) {
      to->write(record);
      ++in_file;
      ++written;
    }
    shown.show(record + 1);
  }
  to->commit();
  std::printf("%lld records in %lld %s, %lld skipped", static_cast<long long>(written),
              static_cast<long long>(files), files == 1 ? "file" : "files", static_cast<long long>(skipped));
  if (without_field > 0)
    std::printf(", %lld without the field %s", static_cast<long long>(without_field), given.field.c_str());
  std::printf("\n");
  return 0;
}

/// Opens tables. The first 10,000 rows determine which columns contain numbers; if some of them are damaged,
/// fewer rows are used.
cohort::table_rows open_tables(command const& given) {
  cohort::table_rows_settings how{.format = {.missing = cohort::missing_values::keep}, .cache = given.cache};
  cohort::table_rows const untyped(given.paths, how);
  for (int rows = 10'000; rows > 0; rows /= 10) try {
      cohort::data_table const first = untyped.read(0, rows);
      for (std::string const& column : first.columns())
        (first.has_texts(column) ? how.format.text_columns : how.format.number_columns).push_back(column);
      return cohort::table_rows(given.paths, how);
    } catch (cohort::data_error const&) {
      // the command reports the damage when it reads the row
    }
  return untyped;
}

void print_row(cohort::data_table const& rows) {
  for (std::string const& column : rows.columns()) {
    std::printf("  %s: ", column.c_str());
    if (rows.has_texts(column)) {
      cohort::text_column const texts = rows.texts(column);
      bool const is_missing = texts.codes[0] < 0;
      std::printf("%s\n", is_missing ? "missing" : preview(std::as_bytes(std::span(texts[0]))).c_str());
    } else {
      float const number = rows.numbers(column)[0];
      number == number ? std::printf("%.9g\n", static_cast<double>(number)) : std::printf("missing\n");
    }
  }
}

int inspect_table(command const& given) {
  cohort::table_rows const tables = open_tables(given);
  if (given.record >= tables.size())
    throw usage_error("--record: expected 0 to " + std::to_string(tables.size() - 1) + ", got "
                      + std::to_string(given.record));
  std::printf("%s, %lld rows\n", files_of(given).c_str(), static_cast<long long>(tables.size()));
  cohort::data_table const row = tables.read(given.record, 1);
  for (std::string const& column : tables.columns())
    std::printf("column %s: %s\n", column.c_str(), row.has_texts(column) ? "texts" : "numbers");
  std::printf("row %lld\n", static_cast<long long>(given.record));
  print_row(row);
  return 0;
}

int verify_table(command const& given) {
  cohort::table_rows const tables = open_tables(given);
  progress shown(given.quiet, "rows verified", tables.size());
  std::int64_t read = 0, blocks = 0;
  tables.for_each_block([&](cohort::data_table const& rows) { shown.show(read += rows.rows()); },
                        [&](cohort::data_error const& problem) {
                          ++blocks;
                          std::fprintf(stderr, "cohort data: %s\n", problem.what());
                        });
  std::printf("%s, %lld rows, of which %lld in %lld damaged blocks\n", files_of(given).c_str(),
              static_cast<long long>(tables.size()), static_cast<long long>(tables.size() - read),
              static_cast<long long>(blocks));
  return blocks > 0 ? 1 : 0;
}

/// Runs a command on tables, which have rows and columns instead of records and fields.
int run_table(command const& given) {
  if (!given.decode.empty() || given.verb == "convert")
    throw usage_error("csv: expected the command index, inspect or verify, without --decode; got "
                      + (given.verb == "convert" ? given.verb : "--decode"));
  if (given.verb == "inspect") return inspect_table(given);
  if (given.verb == "verify") return verify_table(given);
  cohort::table_rows const tables(given.paths, {.cache = given.cache});
  std::printf("%s, %lld rows, columns: %s\n", files_of(given).c_str(), static_cast<long long>(tables.size()),
              joined(tables.columns()).c_str());
  return 0;
}

/// Packs images: FROM TO [FILES].
int pack(std::vector<std::string> const& words) {
  if (words.size() < 2 || words.size() > 3)
    throw usage_error("pack: expected FROM TO [FILES]: two folders and the number of images per archive");
  [[maybe_unused]] int const images = words.size() == 3 ? whole_number<int>("FILES", words[2], 1) : 500;
#if HAS_PACK
  cohort_program::pack_images(words[0], words[1], images);
  return 0;
#else
  throw usage_error(
      "pack: expected a program that was built with the component image, got one without it: "
      "install libturbojpeg0-dev, libpng-dev and zlib1g-dev, and build again");
#endif
}

int run(command& given) {
  if (given.verb == "pack") return pack(given.paths);
  find_format(given);
  if (given.format == "csv") return run_table(given);
  if (given.verb == "index") return index(given);
  if (given.verb == "inspect") return inspect(given);
  return given.verb == "verify" ? verify(given) : convert(given);
}

}  // namespace

int cohort_program::data_command(int count, char** words) {
  try {
    command given = parse(count, words);
    if (given.prints_help) return std::fputs(help, stdout) < 0;
    return run(given);
  } catch (usage_error const& mistake) {
    std::fprintf(stderr, "cohort data: %s\n", mistake.what());
    return 2;
  } catch (cohort::setting_error const& mistake) {
    std::fprintf(stderr, "cohort data: %s\n", mistake.what());
    return 2;
  } catch (std::exception const& problem) {
    std::fprintf(stderr, "cohort data: %s\n", problem.what());
    return 1;
  }
}
