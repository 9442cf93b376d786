// SPDX-License-Identifier: Apache-2.0
#include <cohort/backend/impl/reference.tpp>

namespace cohort {

template class reference<float>;
template class reference<double>;

}  // namespace cohort
