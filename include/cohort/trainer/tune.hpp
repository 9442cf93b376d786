// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/priority.hpp>
#include <cohort/io/data_folders.hpp>
#include <cohort/plan/tuned_operation.hpp>
#include <cohort/trainer/detail/backend_handle.hpp>
#include <cohort/trainer/run_autotuner.hpp>
#include <cohort/trainer/settings.hpp>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace cohort {

/// What is timed, and where the choices are kept.
///
/// Units     `batch`: examples a rank and step. `processors`: those that a rank's workers may use; 0: as many as the process
///           may, so that several ranks in one process say it. `folder` "": nothing is kept.
struct tune_settings {
  int batch = 32;
  int processors = 0;
  std::string folder = cache_folder("choices");
};

/// Takes the way that was fastest here, and keeps it in a file of the user's cache, one for each machine and step. A way that is
/// not at least 3 % faster than the first one is not worth other bits.
class timing_autotuner : public run_autotuner {
 public:
  explicit timing_autotuner(tune_settings how = {}) : how_(std::move(how)) {}

  int batch() const override { return how_.batch; }

  std::size_t choose(std::string const& what, std::span<std::string const> ways,
                     stopwatch const& seconds_of) override;

  void settle_workers(graph_view net, training_settings& settings, std::string const& machine,
                      detail::backend_handle (*port)(graph_view, training_settings const&)) override;

 private:
  /// `seconds` of each way; none where the choice was kept.
  struct decision {
    std::size_t way = 0;
    std::vector<double> seconds{};
  };

  static std::string text_of(int workers, int threads);

  decision decide(std::string const& what, std::span<std::string const> ways,
                  stopwatch const& seconds_of) const;

  tune_settings how_;
};

namespace detail {

template <class... B>
class timed_on final : public timing_autotuner, public step_autotuner_for<B>... {
 public:
  using timing_autotuner::timing_autotuner;
};

template <tensor_backend... B>
std::shared_ptr<run_autotuner> timed_by(std::type_identity<priority<B...>>, tune_settings how) {
  return std::make_shared<timed_on<B...>>(std::move(how));
}
template <tensor_backend B>
std::shared_ptr<run_autotuner> timed_by(std::type_identity<require<B>>, tune_settings how) {
  return std::make_shared<timed_on<B>>(std::move(how));
}
template <tensor_backend B>
std::shared_ptr<run_autotuner> timed_by(std::type_identity<B>, tune_settings how) {
  return std::make_shared<timed_on<B>>(std::move(how));
}

}  // namespace detail

/// For training_settings::tune, with the choice of backends that the trainer gets: who does not tune need not compile it.
///
/// Exact     bits are those of the ways that are taken: they repeat while the cache stays, and on machines of the same name.
template <class Choice>
std::shared_ptr<run_autotuner> tune(tune_settings how = {}) {
  return detail::timed_by(std::type_identity<Choice>(), std::move(how));
}

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/trainer/impl/tune.ipp>
#endif
