// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/tensor_backend.hpp>
#include <cohort/execution/processor_name.hpp>
#include <string>

namespace cohort::detail {

/// Properties of the machine on which run times depend: "AMD EPYC …, avx512, onednn, oneDNN 3.2.0 …".
template <tensor_backend B>
std::string describe_machine() {
  std::string text = processor_name() + ", " + std::string(B::name);
  if constexpr (requires { B::describe_machine(); }) text += ", " + B::describe_machine();
  return text;
}

}  // namespace cohort::detail
