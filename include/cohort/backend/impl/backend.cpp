// SPDX-License-Identifier: Apache-2.0
#include <cohort/backend/impl/host_call.ipp>
#include <cohort/backend/impl/priority.ipp>
