// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cohort/checkpoint/detail/manifest.hpp>
#include <cohort/checkpoint/model_content.hpp>
#include <cohort/detail/hash.hpp>
#include <cohort/detail/json_string.hpp>
#include <cohort/graph/graph_json.hpp>
#include <cohort/io/detail/field_codecs.hpp>
#include <cohort/io/json.hpp>
#include <cohort/io/json_writer.hpp>

namespace cohort::detail {

inline constexpr std::string_view manifest_format = "cohort checkpoint";

inline constexpr int manifest_format_version = 1;

std::string rank_name(std::size_t rank) { return text_of({"rank-", rank, ".safetensors"}); }

/// Codec of a constant text: refuses any other text.
struct constant_codec {
  std::string_view text;

  void read(io::json_value from, std::string_view) const {
    if (from.string() != text) from.refuse(quote_for_error(text));
  }
  void write(io::json_writer& out, std::string_view) const { out.value(text); }
};

struct hash_codec {
  void read(io::json_value from, std::uint64_t& value) const {
    std::string_view const text = from.string();
    auto const end = std::from_chars(text.data(), text.data() + text.size(), value, 16).ptr;
    if (end != text.data() + text.size() || hash_text(value) != text) from.refuse("16 hexadecimal digits");
  }
  void write(io::json_writer& out, std::uint64_t value) const { out.value(hash_text(value)); }
};

/// A file in a manifest.
struct named_file {
  std::string_view name;
  checkpoint_file& facts;
};

template <class Visitor>
void field_table(Visitor& v, named_file s) {
  v.field("name", s.name, constant_codec{s.name});
  v.field("bytes", s.facts.bytes, integer_codec<std::uint64_t>{});
  v.field("content_hash", s.facts.content_hash, hash_codec{});
}

/// Codec of a manifest's file list. The number of ranks determines the number and the names of the files.
struct files_codec {
  int ranks;

  void read(io::json_value from, checkpoint_manifest& value) const {
    auto const count = static_cast<std::size_t>(ranks);
    if (from.kind() != io::json_kind::array || from.size() != count + 1)
      from.refuse(text_of({"an array of ", count + 1, " files, for ", count, " ranks"}));
    value.ranks.resize(count);
    for_each(value, [&](std::size_t index, named_file file) {
      fields_reader reader(from.at(index), true);
      field_table(reader, file);
      reader.finish();
    });
  }
  void write(io::json_writer& out, checkpoint_manifest value) const {
    out.begin_array();
    for_each(value, [&](std::size_t, named_file file) {
      fields_writer writer{out};
      out.begin_object(io::json_lines::one);
      field_table(writer, file);
      out.end_object();
    });
    out.end_array();
  }

 private:
  template <class Work>
  static void for_each(checkpoint_manifest& manifest, Work work) {
    work(0, named_file{shared_name, manifest.shared});
    for (std::size_t rank = 0; rank < manifest.ranks.size(); ++rank)
      work(rank + 1, named_file{rank_name(rank), manifest.ranks[rank]});
  }
};

/// All fields except manifest_hash.
template <class Visitor>
void field_table(Visitor& v, checkpoint_manifest& s) {
  int version = manifest_format_version, ranks = static_cast<int>(s.ranks.size());
  v.field("format", manifest_format, constant_codec{manifest_format});
  v.field("format_version", version, version_codec{manifest_format_version});
  v.field("library_version", s.library_version, text_codec{});
  v.field("step", s.position.step, integer_codec<std::int64_t>{});
  v.field("epoch", s.position.epoch, integer_codec<std::int64_t>{});
  v.field("position", s.position.position, integer_codec<std::int64_t>{});
  v.field("ranks", ranks, integer_codec<int>{1});
  v.field("network_hash", s.network_hash, hash_codec{});
  v.field("settings_hash", s.settings_hash, hash_codec{});
  v.field("seed", s.seed, integer_codec<std::uint64_t>{});
  v.field("writer", s.writer, text_codec{});
  v.field("files", s, files_codec{ranks});
}

/// Serialises a manifest. `manifest_hash` is the hash of all other fields; if it is empty, the field is
/// omitted.
std::string manifest_text(checkpoint_manifest manifest, std::string_view manifest_hash) {
  io::json_writer out(2);
  fields_writer writer{out};
  out.begin_object();
  field_table(writer, manifest);
  if (!manifest_hash.empty()) out.field("manifest_hash", manifest_hash);
  return out.end_object().text();
}

std::string hash_of_manifest(checkpoint_manifest const& manifest) {
  return hash_text(fnv1a(manifest_text(manifest, {})));
}

std::string to_json(checkpoint_manifest const& manifest) {
  return manifest_text(manifest, hash_of_manifest(manifest));
}

checkpoint_manifest manifest_from_json(std::string_view text, std::string_view name) {
  io::json_document const document =
      io::parse_json(text, name, {.max_bytes = std::size_t{16} << 20, .max_depth = 3});
  checkpoint_manifest manifest;
  std::string manifest_hash;
  fields_reader reader(document.root(), true);
  field_table(reader, manifest);
  reader.field("manifest_hash", manifest_hash, text_codec{});
  reader.finish();
  if (std::string const hash = hash_of_manifest(manifest); manifest_hash != hash)
    document.root().at("manifest_hash").refuse("the hash of this manifest, " + quote_for_error(hash));
  return manifest;
}

}  // namespace cohort::detail
