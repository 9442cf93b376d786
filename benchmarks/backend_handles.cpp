// SPDX-License-Identifier: Apache-2.0
#include "backend_handles.hpp"

#include <cohort/onednn.hpp>
#include <cohort/training/trainer.hpp>
#include <cohort/training/tune.hpp>
#if __has_include(<cohort/cudnn.hpp>)
#include <cohort/cudnn.hpp>
#endif

namespace benchmarks {

handle_maker make_backend_handle(std::string_view backend) {
  if (backend == "onednn") return cohort::detail::make_backend_handle<cohort::onednn>;
  if (backend == "onednn_bf16") return cohort::detail::make_backend_handle<cohort::onednn_bf16>;
#if __has_include(<cohort/cudnn.hpp>)
  if (backend == "cudnn") return cohort::detail::make_backend_handle<cohort::cudnn>;
  if (backend == "cudnn_tf32") return cohort::detail::make_backend_handle<cohort::cudnn_tf32>;
  if (backend == "cudnn_bf16") return cohort::detail::make_backend_handle<cohort::cudnn_bf16>;
#endif
  throw cohort::setting_error({.what = "unknown backend, or built without it",
                               .expected = "onednn, onednn_bf16, cudnn, cudnn_tf32 or cudnn_bf16",
                               .got = {backend}});
}

std::shared_ptr<cohort::run_autotuner> autotuner_of_any(int batch) {
  return cohort::tune<cohort::priority<cohort::onednn, cohort::onednn_bf16
#if __has_include(<cohort/cudnn.hpp>)
                                       ,
                                       cohort::cudnn, cohort::cudnn_tf32, cohort::cudnn_bf16
#endif
                                       >>({.batch = batch});
}

}  // namespace benchmarks
