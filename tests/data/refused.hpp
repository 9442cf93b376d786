// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <unistd.h>

#include <gtest/gtest.h>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <initializer_list>
#include <string>
#include <vector>

/// Text of an exception E. Fails the test if nothing is thrown; any other exception ends the test.
template <class E, class Action>
std::string refused(Action action) {
  try {
    action();
  } catch (E const& refusal) {
    return refusal.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return "";
}

inline void expect_parts(std::string const& sentence, std::initializer_list<char const*> parts) {
  for (char const* part : parts)
    EXPECT_NE(sentence.find(part), std::string::npos) << part << " not in: " << sentence;
}

/// A path used only by this test process.
inline std::string fresh_path(std::string const& name) {
  return testing::TempDir() + "cohort-" + std::to_string(::getpid()) + "-" + name;
}

inline void write_file(std::string const& path, std::vector<std::byte> const& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<char const*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  ASSERT_TRUE(file.good()) << path;
}

/// An IDX file's bytes: u8 elements counting up from `first`, modulo `modulus`.
inline std::vector<std::byte> idx_bytes(std::vector<std::uint32_t> const& extents, unsigned modulus = 256,
                                        unsigned first = 0) {
  std::vector<std::byte> bytes = {std::byte{0}, std::byte{0}, std::byte{8},
                                  static_cast<std::byte>(extents.size())};
  std::size_t elements = 1;
  for (std::uint32_t const extent : extents) {
    for (int shift = 24; shift >= 0; shift -= 8)
      bytes.push_back(static_cast<std::byte>(extent >> shift & 255));
    elements *= extent;
  }
  for (std::size_t i = 0; i < elements; ++i) bytes.push_back(static_cast<std::byte>((first + i) % modulus));
  return bytes;
}
