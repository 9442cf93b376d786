// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cohort::detail {

/// Reads what a DataOutputStream of Java has written: big-endian numbers, texts, and arrays of Nd4j.
///
/// Before    the bytes may be untrusted, and outlive the reader.
/// Errors    data_error with the name and the byte.
/// Cost      an array needs at most four times the memory of its bytes in the file.
/// Source    Nd4j.write and BaseDataBuffer.write of Nd4j 0.9 to 1.0.0-M2.
class nd4j_reader {
 public:
  nd4j_reader(std::span<std::byte const> bytes, std::string name) : bytes_(bytes), name_(std::move(name)) {}

  std::string const& name() const { return name_; }
  bool flag();
  std::int32_t integer();
  double real();
  /// Reads a text of writeUTF, of at most 64 bytes.
  std::string text();
  /// Reads the elements of an array in row-major order, rounded to f32.
  ///
  /// Errors    data_error also for integers and for arrays that Nd4j has compressed.
  std::vector<float> array();
  /// Throws data_error if bytes follow.
  void expect_end() const;
  [[noreturn]] void refuse(std::string problem, std::string expected, std::string got) const;

 private:
  /// The header of a buffer: number and type of the elements that follow.
  struct header {
    std::size_t length;
    std::string type;
  };
  std::uint64_t number(int width);
  header read_header();
  std::vector<std::int64_t> read_shape_information();

  std::span<std::byte const> bytes_;
  std::string name_;
  std::size_t position_ = 0;
};

}  // namespace cohort::detail
