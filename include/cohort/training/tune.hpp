// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/priority.hpp>
#include <cohort/io/data_folders.hpp>
#include <cohort/plan/tuned_operation.hpp>
#include <cohort/training/detail/backend_handle.hpp>
#include <cohort/training/run_autotuner.hpp>
#include <cohort/training/settings.hpp>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace cohort {

/// Settings of a timing_autotuner.
///
/// Units     `batch`: examples per rank and step. `processors`: number of processors that a rank's workers
///           may use; 0: all processors of the process. If several ranks share a process, set `processors`.
///           `folder`: folder in which choices are stored; "": choices are not stored.
struct tune_settings {
  int batch = 32;
  int processors = 0;
  std::string folder = io::cache_folder("choices");
};

/// Chooses the fastest variant by measurement, and stores the choice in the user's cache: one file per
/// machine and measured operation. A variant replaces the first variant only if it is at least 3 % faster,
/// because the change may affect the results' bits.
class timing_autotuner : public run_autotuner {
 public:
  explicit timing_autotuner(tune_settings how = {}) : how_(std::move(how)) {}

  int batch() const override { return how_.batch; }

  std::size_t choose(std::string const& what, std::span<std::string const> variants,
                     stopwatch const& seconds_of) override;

  void choose_workers(graph_view net, training_settings& settings, std::string const& machine,
                      detail::backend_handle (*make_backend)(graph_view, training_settings const&)) override;

 private:
  /// `seconds`: time of each variant; empty if the choice was cached.
  struct decision {
    std::size_t choice = 0;
    std::vector<double> seconds{};
  };

  static std::string text_of(int workers, int threads);

  decision decide(std::string const& what, std::span<std::string const> variants,
                  stopwatch const& seconds_of) const;

  tune_settings how_;
};

namespace detail {

template <class... B>
class timing_autotuner_for final : public timing_autotuner, public step_autotuner_for<B>... {
 public:
  using timing_autotuner::timing_autotuner;
};

template <tensor_backend... B>
std::shared_ptr<run_autotuner> make_timing_autotuner(std::type_identity<priority<B...>>, tune_settings how) {
  return std::make_shared<timing_autotuner_for<B...>>(std::move(how));
}
template <tensor_backend B>
std::shared_ptr<run_autotuner> make_timing_autotuner(std::type_identity<required_backend<B>>,
                                                     tune_settings how) {
  return std::make_shared<timing_autotuner_for<B>>(std::move(how));
}
template <tensor_backend B>
std::shared_ptr<run_autotuner> make_timing_autotuner(std::type_identity<B>, tune_settings how) {
  return std::make_shared<timing_autotuner_for<B>>(std::move(how));
}

}  // namespace detail

/// Makes an autotuner for training_settings::tune. `Choice`: as for trainer. This function is in a separate
/// header, so programs without autotuning do not compile it.
///
/// Exact     the chosen variants determine the results' bits. Runs with the same cached choices are
///           reproducible, also on other machines with the same description (processor, backend, library).
template <class Choice>
std::shared_ptr<run_autotuner> tune(tune_settings how = {}) {
  return detail::make_timing_autotuner(std::type_identity<Choice>(), std::move(how));
}

}  // namespace cohort
