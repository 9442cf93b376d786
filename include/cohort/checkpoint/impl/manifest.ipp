// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cohort/checkpoint/detail/manifest.hpp>
#include <cohort/checkpoint/model_content.hpp>
#include <cohort/detail/hash.hpp>
#include <cohort/detail/json_string.hpp>
#include <cohort/graph/graph_json.hpp>
#include <cohort/io/json.hpp>
#include <cohort/io/json_writer.hpp>
#include <limits>

namespace cohort::detail {

inline constexpr std::string_view manifest_format = "cohort checkpoint";

inline constexpr std::int64_t manifest_format_version = 1;

std::string rank_name(std::size_t rank) { return text_of({"rank-", rank, ".safetensors"}); }

/// Serialises a manifest. `manifest_hash` is the hash of all other fields; if it is empty, the field is
/// omitted.
std::string manifest_text(checkpoint_manifest const& manifest, std::string_view manifest_hash) {
  io::json_writer out(2);
  out.begin_object().field("format", manifest_format).field("format_version", manifest_format_version);
  out.field("library_version", manifest.library_version);
  out.field("step", manifest.position.step).field("epoch", manifest.position.epoch);
  out.field("position", manifest.position.position).field("ranks", manifest.ranks.size());
  out.field("network_hash", hash_text(manifest.network_hash));
  out.field("settings_hash", hash_text(manifest.settings_hash)).field("seed", manifest.seed);
  out.field("writer", manifest.writer);
  auto const write = [&](std::string_view name, checkpoint_file const& file) {
    out.begin_object(io::json_lines::one).field("name", name).field("bytes", file.bytes);
    out.field("content_hash", hash_text(file.content_hash)).end_object();
  };
  out.key("files").begin_array();
  write(shared_name, manifest.shared);
  for (std::size_t rank = 0; rank < manifest.ranks.size(); ++rank)
    write(rank_name(rank), manifest.ranks[rank]);
  out.end_array();
  if (!manifest_hash.empty()) out.field("manifest_hash", manifest_hash);
  return out.end_object().text();
}

std::string hash_of_manifest(checkpoint_manifest const& manifest) {
  return hash_text(fnv1a(manifest_text(manifest, {})));
}

std::uint64_t read_hash(io::json_value value) {
  std::string_view const text = value.string();
  std::uint64_t hash = 0;
  auto const end = std::from_chars(text.data(), text.data() + text.size(), hash, 16).ptr;
  if (end != text.data() + text.size() || hash_text(hash) != text) value.refuse("16 hexadecimal digits");
  return hash;
}

}  // namespace cohort::detail

namespace cohort::detail {

std::string to_json(checkpoint_manifest const& manifest) {
  return detail::manifest_text(manifest, detail::hash_of_manifest(manifest));
}

checkpoint_manifest manifest_from_json(std::string_view text, std::string_view name) {
  io::json_document const document =
      io::parse_json(text, name, {.max_bytes = std::size_t{16} << 20, .max_depth = 3});
  io::json_value const root = document.root();
  root.expect_only({"format", "format_version", "library_version", "step", "epoch", "position", "ranks",
                    "network_hash", "settings_hash", "seed", "writer", "files", "manifest_hash"});
  if (root.at("format").string() != detail::manifest_format)
    root.at("format").refuse(detail::quote_for_error(detail::manifest_format));
  root.at("format_version").integer(detail::manifest_format_version, detail::manifest_format_version);
  checkpoint_manifest manifest;
  manifest.library_version = root.at("library_version").string();
  manifest.position = {root.at("step").integer(0), root.at("epoch").integer(0),
                       root.at("position").integer(0)};
  manifest.network_hash = detail::read_hash(root.at("network_hash"));
  manifest.settings_hash = detail::read_hash(root.at("settings_hash"));
  manifest.seed = root.at("seed").unsigned_integer();
  manifest.writer = root.at("writer").string();

  io::json_value const files = root.at("files");
  auto const ranks = static_cast<std::size_t>(root.at("ranks").integer(1, std::numeric_limits<int>::max()));
  if (files.kind() != io::json_kind::array || files.size() != ranks + 1)
    files.refuse(detail::text_of({"an array of ", ranks + 1, " files, for ", ranks, " ranks"}));
  for (std::size_t i = 0; i <= ranks; ++i) {
    io::json_value const file = files.at(i);
    file.expect_only({"name", "bytes", "content_hash"});
    std::string const wanted = i == 0 ? std::string(detail::shared_name) : detail::rank_name(i - 1);
    if (file.at("name").string() != wanted) file.at("name").refuse(detail::quote_for_error(wanted));
    checkpoint_file const facts{file.at("bytes").unsigned_integer(),
                                detail::read_hash(file.at("content_hash"))};
    if (i == 0)
      manifest.shared = facts;
    else
      manifest.ranks.push_back(facts);
  }
  if (io::json_value const manifest_hash = root.at("manifest_hash");
      manifest_hash.string() != detail::hash_of_manifest(manifest))
    manifest_hash.refuse("the hash of this manifest, "
                         + detail::quote_for_error(detail::hash_of_manifest(manifest)));
  return manifest;
}

}  // namespace cohort::detail
