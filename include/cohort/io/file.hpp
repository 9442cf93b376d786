// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace cohort::io {

/// Function that returns the contents of a file: read_file, or gzip::read_file for .gz files.
using byte_source = std::function<std::vector<std::byte>(std::string const& path)>;

/// Returns the contents of a regular file.
///
/// Errors    as file_reader. file_error if the file is larger than `max_bytes`, before anything is allocated,
///           or if it becomes shorter while it is read.
std::vector<std::byte> read_file(std::string const& path, std::size_t max_bytes = std::size_t{1} << 36);

}  // namespace cohort::io
