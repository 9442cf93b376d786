// SPDX-License-Identifier: Apache-2.0
#include <cohort/cudnn/detail/driver_functions.hpp>
#include <cohort/error/exceptions.hpp>
#include <utility>

namespace cohort::detail {

void driver_functions::check(CUresult status, char const* doing, std::string const& gpu) const {
  if (status == CUDA_SUCCESS) return;
  char const *name = nullptr, *text = nullptr;
  error_name(status, &name);
  error_text(status, &text);
  clause cause{name ? name : "an unknown error", ": ", text ? text : "no text"};
  if (gpu.empty()) throw backend_error({.what = {doing, " failed"}, .where = std::move(cause)});
  throw backend_error({.what = {doing, " failed"}, .where = gpu, .got = std::move(cause)});
}

}  // namespace cohort::detail
