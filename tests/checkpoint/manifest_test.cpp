// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cohort/checkpoint/detail/manifest.hpp>
#include <cohort/error/exceptions.hpp>
#include <string>

#include "refusals.hpp"

namespace manifest_test {

using namespace cohort;
using namespace cohort::detail;

checkpoint_manifest of_two_ranks() {
  return {.position = {812, 3, 6400},
          .network_hash = 0x1234,
          .settings_hash = 0xffff'ffff'ffff'ffff,
          .seed = 0xffff'ffff'ffff'fffe,
          .writer = "node7, process 4711, started 1234567",
          .shared = {1000, 7},
          .ranks = {{200, 8}, {300, 9}}};
}

/// Error text for a manifest in which a piece of text was replaced and the hash corrected.
std::string refused(std::string const& from, std::string const& to,
                    checkpoint_manifest manifest = of_two_ranks()) {
  std::string text = to_json(manifest);
  std::size_t const at = text.find(from);
  if (at == std::string::npos) return "there is no " + from;
  text.replace(at, from.size(), to);
  return refusal_of<data_error>([&] { manifest_from_json(text); });
}

TEST(manifest, is_read_back_as_written) {
  checkpoint_manifest const manifest = of_two_ranks();
  EXPECT_EQ(manifest_from_json(to_json(manifest)), manifest);
}

TEST(manifest, is_written_as_indented_json) {
  EXPECT_EQ(to_json(of_two_ranks()), R"({
  "format": "cohort checkpoint",
  "format_version": 1,
  "library_version": ")" + std::string(library_version)
                                         + R"(",
  "step": 812,
  "epoch": 3,
  "position": 6400,
  "ranks": 2,
  "network_hash": "0000000000001234",
  "settings_hash": "ffffffffffffffff",
  "seed": 18446744073709551614,
  "writer": "node7, process 4711, started 1234567",
  "files": [
    {"name": "shared.safetensors", "bytes": 1000, "content_hash": "0000000000000007"},
    {"name": "rank-0.safetensors", "bytes": 200, "content_hash": "0000000000000008"},
    {"name": "rank-1.safetensors", "bytes": 300, "content_hash": "0000000000000009"}
  ],
  "manifest_hash": ")" + detail::hash_of_manifest(of_two_ranks())
                                         + "\"\n}\n");
}

TEST(manifest, detects_every_changed_byte) {
  std::string const text = to_json(of_two_ranks());
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string damaged = text;
    damaged[i] ^= 1;
    EXPECT_NE(refusal_of<data_error>([&] { manifest_from_json(damaged); }), "") << "byte " << i;
  }
  for (std::size_t size = 0; size + 1 < text.size(); ++size)  // except the last line feed
    EXPECT_NE(refusal_of<data_error>([&] { manifest_from_json(text.substr(0, size)); }), "") << size;
}

TEST(manifest, accepts_only_file_names_of_a_checkpoint) {
  EXPECT_EQ(
      refused("rank-1.safetensors", "../../etc/passwd"),
      "cannot read JSON (manifest:16:14, $.files[2].name): expected \"rank-1.safetensors\", got the string "
      "\"../../etc/passwd\"");
  EXPECT_NE(refused("rank-0.safetensors", "rank-1.safetensors").find("$.files[1].name"), std::string::npos);
  EXPECT_NE(refused("shared.safetensors", "/shared.safetensors").find("$.files[0].name"), std::string::npos);
}

TEST(manifest, refuses_inconsistent_numbers) {
  EXPECT_NE(refused("\"ranks\": 2", "\"ranks\": 3")
                .find("expected an array of 4 files, for 3 ranks, got an array of 3"),
            std::string::npos);
  for (char const* ranks : {"\"ranks\": 0", "\"ranks\": -1", "\"ranks\": 4294967298", "\"ranks\": 2.5"})
    EXPECT_NE(refused("\"ranks\": 2", ranks).find("$.ranks): expected an integer from 1"), std::string::npos)
        << ranks;
  EXPECT_NE(refused("\"step\": 812", "\"step\": -812").find("$.step"), std::string::npos);
  EXPECT_NE(refused("\"bytes\": 200", "\"bytes\": -200").find("$.files[1].bytes"), std::string::npos);
  EXPECT_NE(refused("\"bytes\": 200", "\"bytes\": 200, \"path\": \"x\"")
                .find("$.files[1].path): expected one of the fields name, bytes, content_hash, got \"path\""),
            std::string::npos);
  EXPECT_NE(refused("0000000000000007", "7").find("expected 16 hexadecimal digits, got the string \"7\""),
            std::string::npos);
  EXPECT_NE(refused("0000000000000007", "-000000000000007").find("16 hexadecimal digits"), std::string::npos);
  EXPECT_NE(refused("cohort checkpoint", "cohort model").find("expected \"cohort checkpoint\""),
            std::string::npos);
  EXPECT_NE(refused("\"format_version\": 1", "\"format_version\": 2").find("$.format_version"),
            std::string::npos);
  EXPECT_NE(refused("\"position\": 6400", "\"position\": 6401").find("expected the hash of this manifest"),
            std::string::npos);
}

TEST(manifest, bounds_the_cost_of_hostile_input) {
  EXPECT_NE(
      refusal_of<data_error>([] { manifest_from_json(std::string(100'000, '[')); }).find("at most 3 levels"),
      std::string::npos);
  EXPECT_NE(refusal_of<data_error>([] {
              manifest_from_json(std::string((16 << 20) + 1, ' '));
            }).find("at most 16777216 bytes"),
            std::string::npos);
}

}  // namespace manifest_test
