// SPDX-License-Identifier: Apache-2.0
#include <cohort/detail/impl/json_string.ipp>
#include <cohort/detail/impl/random_number.ipp>
#include <cohort/detail/impl/text.ipp>
#include <cohort/detail/impl/text_table.ipp>
