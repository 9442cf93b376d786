// SPDX-License-Identifier: Apache-2.0
#pragma once
// The compiled library's reference backends. No header includes this file.
#include <cohort/backend/impl/reference.tpp>

namespace cohort {

template class reference<float>;
template class reference<double>;

}  // namespace cohort
