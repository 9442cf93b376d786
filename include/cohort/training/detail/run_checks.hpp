// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <cohort/communicator/require_same.hpp>
#include <cohort/data/batch_view.hpp>
#include <cohort/data/dataset.hpp>
#include <cohort/data/normalisation.hpp>
#include <cohort/data/sharding.hpp>
#include <cohort/graph/graph.hpp>
#include <cohort/training/settings.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort::detail {

struct training_state;

/// Errors    setting_error unless `batch` is at least 1.
void check_batch_size(int batch, char const* where);
/// Errors    setting_error unless `batch` and `accumulate` are at least 1 and `accumulate` is at most
///           `batch`.
void check_batch(fit_settings const& how);

/// Errors    shape_error unless the data set (or the given tensors, for any number of examples) matches the
///           network's inputs. There must be either no mask, or one mask for each masked input. setting_error
///           for rows of a table that the kept pipeline has not prepared. data_error if the columns of a
///           table, or their order, differ from those of the kept encoder or of the last fit.
void check_inputs(training_state const& run, dataset const& data, char const* call);
void check_inputs(graph_view net, std::span<tensor_view const> given, std::span<tensor_view const> masks);

/// Checks inputs and targets.
///
/// Errors    those of check_inputs; graph_error for a network without loss; shape_error unless the data set
///           has, for each loss, one target that the loss accepts. A target must have at most as many
///           classes as the loss, and exactly as many if the classes have names.
void check_dataset(training_state const& run, dataset const& data, char const* call);

/// The names of the features of each input; nothing if no input has names.
std::vector<std::vector<std::string>> feature_names_of(dataset const& data);
/// Compares the columns of a table with the columns of another table. `whose`: name of the other table in
/// messages.
void check_feature_names(dataset const& data, std::vector<std::vector<std::string>> const& known,
                         char const* whose, char const* call);

/// The names of the classes of each target; nothing if no target has names.
std::vector<std::vector<std::string>> class_names_of(dataset const& data);

/// Compares the class names of a data set with the class names of the kept encoder and with `known`, the
/// class names of the data that the network was trained on. An empty list of names matches every list.
///
/// Errors    data_error with both lists.
void check_class_names(training_state const& run, dataset const& data,
                       std::vector<std::vector<std::string>> const& known, char const* call);

/// With sharding::global, requires the same data set on every rank. With both kinds of sharding, either all
/// ranks or no rank must have a stream. `epoch`: the epoch whose examples are compared. `where`: for the
/// message. `run`: a run whose network must also be the same on every rank; the networks are compared in the
/// same exchange; null: none.
///
/// Order     collective.
/// Errors    setting_error on every rank, with the data set of each rank; data_error if a data set throws on
///           one rank.
void check_sharding(communicator& world, dataset const& data, sharding how, std::int64_t epoch,
                    char const* where, training_state const* run = nullptr);

/// Number of examples on each rank with sharding::local; empty with sharding::global.
///
/// Order     collective with sharding::local.
std::vector<std::int64_t> local_sizes(communicator& world, dataset const& data, sharding how);

/// Returns the facts that check_ranks compares: network, settings, strategy, data and position.
///
/// Errors    setting_error if the strategy does not synchronise the ranks.
std::vector<shared_fact> facts_of_fit(training_state& run, dataset const& data, fit_settings const& how);
/// If the networks of the ranks differ, adds the first layer that differs to the facts. `call`: the user's
/// call, for messages.
///
/// Order     collective.
void add_differing_layer(training_state const& run, std::string_view call, std::vector<shared_fact>& facts);
/// Returns a short text by which ranks compare their data sets: "a stream", or the number and fingerprint of
/// the examples; with sharding::local, only whether the data set is a stream.
///
/// Errors    those of reading examples.
std::string text_of_examples(dataset const& data, sharding how, std::int64_t epoch);

/// Requires the same network, settings, strategy, data and position on every rank, and, in a launch of
/// several ranks, a communicator.
///
/// Order     collective.
/// Errors    setting_error, the same on every rank.
void check_ranks(training_state& run, dataset const& data, fit_settings const& how, char const* call);

/// Requires the same network, settings, strategy and position on every rank.
///
/// Order     collective.
/// Errors    setting_error, the same on every rank.
void check_run(training_state& run, char const* call);

/// Returns the network's loss layers.
///
/// Errors    graph_error if it has none.
std::vector<int> losses_of(graph_view net);

/// Errors    shape_error unless the batch has the network's inputs, one target for each of `losses`, and the
///           same number of examples in each tensor and list; data_error for a weight that is negative or not
///           finite.
void check_batch_view(graph_view net, std::span<int const> losses, element_type type, batch_view const& data);

/// Errors    shape_error unless the numbers of maps match the features of the network's inputs and targets;
///           setting_error for a map that is not finite or cannot be inverted.
void check_normalisation(graph_view net, normalisation const& how);

/// Refuses a collective call in on_step if the ranks do not call their listeners in the same steps. `what`:
/// the call, for the message.
///
/// Errors    setting_error.
void check_common_steps(training_state const& run, char const* what);

}  // namespace cohort::detail
