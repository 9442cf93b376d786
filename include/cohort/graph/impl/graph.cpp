// SPDX-License-Identifier: Apache-2.0
#include <cohort/graph/impl/graph.ipp>
#include <cohort/graph/impl/graph_json.ipp>
#include <cohort/graph/impl/layers_codec.ipp>
#include <cohort/graph/impl/named_layers.ipp>
#include <cohort/graph/impl/summary.ipp>
