// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cstddef>
#include <string>

namespace cohort::detail {

/// Opens an unnamed temporary file in a folder, for reading and writing. The caller closes it.
///
/// Errors    file_error naming the folder.
int open_scratch_file(std::string const& folder);

/// Zeroed memory of a fixed size, either anonymous or mapped to an unnamed temporary file. If memory is
/// short, the system writes pages of the file to the disk. The system frees the file when the process ends,
/// also after SIGKILL.
///
/// Parameters  `folder`: folder of the file, or "" for anonymous memory.
/// Order     several threads may use different bytes.
/// Errors    file_error naming the folder if the folder does not exist, is not writable or has too little
///           space. std::bad_alloc.
/// Cost      the file's space on the disk is reserved at once, so that a later write cannot find the disk
///           full. Anonymous memory is used page by page, at the first write.
class scratch_memory {
 public:
  scratch_memory(std::string const& folder, std::size_t bytes);
  scratch_memory(scratch_memory const&) = delete;
  scratch_memory& operator=(scratch_memory const&) = delete;
  ~scratch_memory();

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_;
};

}  // namespace cohort::detail
