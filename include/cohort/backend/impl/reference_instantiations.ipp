// SPDX-License-Identifier: Apache-2.0
#pragma once
// Instantiates the reference backends for the compiled library. No header includes this file.
#include <cohort/backend/impl/reference.tpp>

namespace cohort {

template class reference<float>;
template class reference<double>;

}  // namespace cohort
