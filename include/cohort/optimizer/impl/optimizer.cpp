// SPDX-License-Identifier: Apache-2.0
#include <cohort/optimizer/impl/constraint.ipp>
#include <cohort/optimizer/impl/gradient_normalisation.ipp>
#include <cohort/optimizer/impl/named_number.ipp>
#include <cohort/optimizer/impl/optimizer.ipp>
#include <cohort/optimizer/impl/optimizer_fields.ipp>
#include <cohort/optimizer/impl/optimizer_rule.ipp>
#include <cohort/optimizer/impl/own_optimizer.ipp>
#include <cohort/optimizer/impl/plateau.ipp>
#include <cohort/optimizer/impl/rate_schedule.ipp>
#include <cohort/optimizer/impl/regularisation.ipp>
#include <cohort/optimizer/impl/update_simd.ipp>
