// SPDX-License-Identifier: Apache-2.0
#include <cohort/documents/impl/ranks.ipp>
