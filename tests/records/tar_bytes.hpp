// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

namespace tar_bytes {

/// Writes the checksum of a header.
inline void sign(std::string& header, std::size_t at = 0) {
  std::memset(&header[at + 148], ' ', 8);
  unsigned sum = 0;
  for (std::size_t k = 0; k < 512; ++k) sum += static_cast<unsigned char>(header[at + k]);
  std::snprintf(&header[at + 148], 8, "%06o", sum);
}

/// A member of a tar archive: its header and its content in blocks of 512 bytes.
inline std::string member(std::string const& name, std::string const& content, char type = '0') {
  std::string made(512, '\0');
  made.replace(0, name.size(), name);
  std::snprintf(&made[124], 12, "%011llo", static_cast<unsigned long long>(content.size()));
  made[156] = type;
  std::memcpy(&made[257], "ustar\00000", 8);
  sign(made);
  made += content;
  made.resize((made.size() + 511) / 512 * 512);
  return made;
}

inline std::string end() { return std::string(1024, '\0'); }

/// A record of a pax header: its length includes the digits of the length.
inline std::string pax(std::string const& key, std::string const& value) {
  std::string const rest = " " + key + "=" + value + "\n";
  std::size_t length = rest.size() + 1;
  while (std::to_string(length).size() + rest.size() != length) ++length;
  return std::to_string(length) + rest;
}

inline void write(std::string const& path, std::string const& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace tar_bytes
