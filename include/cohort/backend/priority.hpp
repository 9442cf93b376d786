// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/tensor_backend.hpp>
#include <cohort/execution/sink.hpp>
#include <string>
#include <type_traits>
#include <utility>

namespace cohort {

/// Backends in order of preference. The program uses the first one that is usable on this machine and has
/// kernels for the program's network.
///
/// Order     backends are tried in template order. If BACKEND_PRIORITY_CPU or BACKEND_PRIORITY_GPU is set,
///           the device type with the higher number comes first. The defaults are 0 for CPU and 100 for GPU.
///           Equal numbers keep template order.
/// Source    the two variables are Deeplearning4j's.
template <tensor_backend... B>
struct priority {
  static_assert(sizeof...(B) > 0, "cohort: priority needs at least one backend");
};

/// Requires backend B. If B is not usable, backend_error gives the reason; no other backend is selected.
template <tensor_backend B>
struct required_backend {};

namespace detail {

/// Reads an integer from an environment variable. Returns false if the variable is unset or empty.
bool environment_number(char const* variable, int& number);

template <tensor_backend B>
constexpr bool is_gpu() {
  if constexpr (requires { B::is_gpu; })
    return B::is_gpu;
  else
    return false;
}

template <tensor_backend B>
std::string backend_name(B const* = nullptr) {
  return std::string(B::name);
}

/// Log line of the selected backend.
std::string log_line(std::string const& backend, availability const& found);

template <class Lacks, class Visit, tensor_backend... B>
auto visit_backend(std::type_identity<priority<B...>>, sink const& log, Lacks&& unfit_reason, Visit&& visit) {
  int cpu = 0, gpu = 100;
  bool const cpu_set = environment_number("BACKEND_PRIORITY_CPU", cpu);
  bool const gpu_set = environment_number("BACKEND_PRIORITY_GPU", gpu);
  constexpr int count = sizeof...(B);
  int rank[count]{(is_gpu<B>() ? gpu : cpu)...};
  int order[count];
  for (int i = 0; i < count; ++i) order[i] = i;
  if (cpu_set || gpu_set)
    for (int i = 1; i < count; ++i)  // a stable sort: equal priorities keep the template's order
      for (int j = i; j > 0 && rank[order[j]] > rank[order[j - 1]]; --j) std::swap(order[j], order[j - 1]);

  std::string skipped, line;
  int chosen = -1;
  for (int i = 0; i < count && chosen < 0; ++i) {
    int at = 0;
    auto const try_one = [&]<class One>(One const*) {
      if (at++ != order[i]) return;
      availability found = One::probe();
      if (found.usable) found.reason = unfit_reason.template operator()<One>();
      if (found.reason.empty()) {
        chosen = order[i];
        line = log_line(backend_name<One>(), found);
      } else {
        skipped += (skipped.empty() ? "" : "; ") + backend_name<One>() + ": " + found.reason;
      }
    };
    (try_one(static_cast<B const*>(nullptr)), ...);
  }
  if (chosen < 0) throw backend_error({.what = "no backend can be used on this machine", .got = skipped});

  using result = std::common_type_t<decltype(visit.template operator()<B>())...>;
  result made{};
  int at = 0;
  auto const use_one = [&]<class One>(One const*) {
    if (at++ != chosen) return;
    if (log) log(line + (skipped.empty() ? "" : " (skipped: " + skipped + ")"));
    made = visit.template operator()<One>();
  };
  (use_one(static_cast<B const*>(nullptr)), ...);
  return made;
}

template <class Lacks, class Visit, tensor_backend B>
auto visit_backend(std::type_identity<required_backend<B>>, sink const& log, Lacks&&, Visit&& visit) {
  availability const found = B::probe();
  if (!found.usable)
    throw backend_error({.what = "the required backend cannot be used on this machine",
                         .where = backend_name<B>(),
                         .got = found.reason});
  if (log) log(log_line(backend_name<B>(), found));
  return visit.template operator()<B>();
}

template <class Lacks, class Visit, tensor_backend B>
auto visit_backend(std::type_identity<B>, sink const& log, Lacks&& unfit_reason, Visit&& visit) {
  return visit_backend(std::type_identity<required_backend<B>>{}, log, unfit_reason, visit);
}

}  // namespace detail

/// Selects a backend B by `Choice` (a backend, required_backend<B> or priority<…>) and returns
/// visit.operator()<B>(). Logs one line: the selected backend, and why others were skipped.
///
/// `unfit_reason`  used with priority<…>: unfit_reason.operator()<B>() returns "" if the usable backend B
///                 supports the task, otherwise the reason, as a clause.
///
/// Order     no object of a backend is created before its probe has succeeded.
/// Errors    backend_error with every reason if no backend is usable; setting_error if an environment
///           variable is not an integer.
template <class Choice, class Lacks, class Visit>
auto with_backend(sink const& log, Lacks&& unfit_reason, Visit&& visit) {
  return detail::visit_backend(std::type_identity<Choice>{}, log, unfit_reason, visit);
}

/// Like with_backend(log, unfit_reason, visit), for tasks that every backend supports.
template <class Choice, class Visit>
auto with_backend(sink const& log, Visit&& visit) {
  return with_backend<Choice>(
      log, []<class B>() { return std::string(); }, visit);
}

}  // namespace cohort
