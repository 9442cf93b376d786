// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/tensor_backend.hpp>
#include <cohort/execution/sink.hpp>
#include <string>
#include <type_traits>
#include <utility>

namespace cohort {

/// Several backends by preference: the first that works on this machine, and has kernels for what it is taken for, is taken.
///
/// Order     template order, unless BACKEND_PRIORITY_CPU or BACKEND_PRIORITY_GPU is set: then the device with the
///           higher number goes first (unset: CPU 0, GPU 100), template order among equals.
/// Source    the two variables are Deeplearning4j's.
template <tensor_backend... B>
struct priority {
  static_assert(sizeof...(B) > 0, "cohort: priority needs at least one backend");
};

/// One backend, or none: where it cannot be used, backend_error says why, instead of another one being taken.
template <tensor_backend B>
struct require {};

namespace detail {

bool environment_number(char const* variable, int& number);

template <tensor_backend B>
constexpr bool is_gpu() {
  if constexpr (requires { B::is_gpu; })
    return B::is_gpu;
  else
    return false;
}

template <tensor_backend B>
std::string named(B const* = nullptr) {
  return std::string(B::name);
}

std::string line_of(std::string const& backend, availability const& found);

template <class Lacks, class Visit, tensor_backend... B>
auto visit_backend(std::type_identity<priority<B...>>, sink const& say, Lacks&& lacks, Visit&& visit) {
  int cpu = 0, gpu = 100;
  bool const cpu_set = environment_number("BACKEND_PRIORITY_CPU", cpu);
  bool const gpu_set = environment_number("BACKEND_PRIORITY_GPU", gpu);
  constexpr int count = sizeof...(B);
  int rank[count]{(is_gpu<B>() ? gpu : cpu)...};
  int order[count];
  for (int i = 0; i < count; ++i) order[i] = i;
  if (cpu_set || gpu_set)
    for (int i = 1; i < count; ++i)  // stable: equal priorities keep the template's order
      for (int j = i; j > 0 && rank[order[j]] > rank[order[j - 1]]; --j) std::swap(order[j], order[j - 1]);

  std::string passed_over, line;
  int taken = -1;
  for (int i = 0; i < count && taken < 0; ++i) {
    int at = 0;
    auto const try_one = [&]<class One>(One const*) {
      if (at++ != order[i]) return;
      availability found = One::probe();
      if (found.usable) found.reason = lacks.template operator()<One>();
      if (found.reason.empty()) {
        taken = order[i];
        line = line_of(named<One>(), found);
      } else {
        passed_over += (passed_over.empty() ? "" : "; ") + named<One>() + ": " + found.reason;
      }
    };
    (try_one(static_cast<B const*>(nullptr)), ...);
  }
  if (taken < 0) throw backend_error({.what = "no backend can be used on this machine", .got = passed_over});

  using result = std::common_type_t<decltype(visit.template operator()<B>())...>;
  result made{};
  int at = 0;
  auto const use_one = [&]<class One>(One const*) {
    if (at++ != taken) return;
    if (say) say(line + (passed_over.empty() ? "" : " (passed over: " + passed_over + ")"));
    made = visit.template operator()<One>();
  };
  (use_one(static_cast<B const*>(nullptr)), ...);
  return made;
}

template <class Lacks, class Visit, tensor_backend B>
auto visit_backend(std::type_identity<require<B>>, sink const& say, Lacks&&, Visit&& visit) {
  availability const found = B::probe();
  if (!found.usable)
    throw backend_error({.what = "the backend that this program requires cannot be used on this machine",
                         .where = named<B>(),
                         .got = found.reason});
  if (say) say(line_of(named<B>(), found));
  return visit.template operator()<B>();
}

template <class Lacks, class Visit, tensor_backend B>
auto visit_backend(std::type_identity<B>, sink const& say, Lacks&& lacks, Visit&& visit) {
  return visit_backend(std::type_identity<require<B>>{}, say, lacks, visit);
}

}  // namespace detail

/// Calls visit.operator()<B>() for the backend that `Choice` (a backend, require<B> or priority<…>) comes to here,
/// and says once which it is and why others were passed over. lacks.operator()<B>() says, as a clause, why a backend of a
/// priority<…> that works here is not fit for what it would be taken for; "" where it is.
///
/// Order     no object of a backend is made before its probe has said that it can be used.
/// Errors    backend_error with every reason if none can be used; setting_error for a variable that is no number.
template <class Choice, class Lacks, class Visit>
auto with_backend(sink const& say, Lacks&& lacks, Visit&& visit) {
  return detail::visit_backend(std::type_identity<Choice>{}, say, lacks, visit);
}

/// The same for what every backend is fit for.
template <class Choice, class Visit>
auto with_backend(sink const& say, Visit&& visit) {
  return with_backend<Choice>(
      say, []<class B>() { return std::string(); }, visit);
}

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/backend/impl/priority.ipp>
#endif
