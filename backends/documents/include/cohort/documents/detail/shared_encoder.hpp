// SPDX-License-Identifier: Apache-2.0
#pragma once
// The encoder of a table whose rows are divided over the files of several ranks.
#include <cohort/communicator/communicator.hpp>
#include <cohort/data/data_table.hpp>
#include <cohort/data/table_encoder.hpp>
#include <string>

namespace cohort::detail {

/// Returns the encoder that fits the tables of all ranks, the same on every rank. Collective.
///
/// Errors    setting_error for a mean or median, which the ranks' encoders do not contain; data_error, with
///           the rank, if the table of a rank cannot be encoded, or if a column has other types on another
///           rank.
table_encoder shared_encoder(communicator& world, data_table const& part, encoder_settings const& settings,
                             std::string const& where);

}  // namespace cohort::detail
