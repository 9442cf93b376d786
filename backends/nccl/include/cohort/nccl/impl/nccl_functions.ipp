// SPDX-License-Identifier: Apache-2.0
#include <cohort/nccl/detail/nccl_functions.hpp>
#include <string>

namespace cohort::detail {

/// Returns an NCCL version number as text: "2.28.9" for 22809.
std::string nccl_version_text(int version) {
  return std::to_string(version / 10000) + '.' + std::to_string(version % 10000 / 100) + '.'
         + std::to_string(version % 100);
}

std::shared_ptr<nccl_functions const> load_nccl(library_source const& from) {
  std::string const names[]{"libnccl.so.2"};
  auto const made =
      std::make_shared<nccl_functions const>(load_functions<nccl_functions>(from, "NCCL 2", names));
  int version = 0;
  if (made->version(&version) != ncclSuccess || version < nccl_functions::oldest)
    throw backend_error({.what = "NCCL is too old",
                         .expected = {nccl_version_text(nccl_functions::oldest), " or newer"},
                         .got = nccl_version_text(version)});
  return made;
}

}  // namespace cohort::detail
