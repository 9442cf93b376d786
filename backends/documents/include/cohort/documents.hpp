// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Runs of documents: reads a document, loads its data, starts its ranks, trains and reports.
#include <cohort/documents/checks.hpp>
#include <cohort/documents/data.hpp>
#include <cohort/documents/monitors.hpp>
#include <cohort/documents/networks.hpp>
#include <cohort/documents/outputs.hpp>
#include <cohort/documents/ranks.hpp>
#include <cohort/documents/remote.hpp>
#include <cohort/documents/reports.hpp>
#include <cohort/documents/run.hpp>
#include <cohort/documents/settings.hpp>
