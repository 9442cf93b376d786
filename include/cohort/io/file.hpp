// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace cohort {

/// Gives the whole contents of the file at a path: read_file, or gzip::read_file for .gz.
using byte_source = std::function<std::vector<std::byte>(std::string const& path)>;

/// The bytes of a regular file.
///
/// Errors    file_error as file_reader's, and if the file becomes shorter meanwhile or is larger than `max_bytes`;
///           its size is looked at before memory is taken.
std::vector<std::byte> read_file(std::string const& path, std::size_t max_bytes = std::size_t{1} << 36);

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/io/impl/file.ipp>
#endif
