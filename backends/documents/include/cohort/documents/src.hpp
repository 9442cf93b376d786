// SPDX-License-Identifier: Apache-2.0
#pragma once
// Implementation of the component documents. In a program that is built without CMake, exactly one source
// includes this file. It uses the components whose macros are 1: COHORT_WITH_CUDNN, COHORT_WITH_IMAGE,
// COHORT_WITH_KERAS, COHORT_WITH_MPI, COHORT_WITH_NCCL, COHORT_WITH_ONEDNN, COHORT_WITH_TCP and
// COHORT_WITH_YAML.
#include <cohort/documents/impl/documents.cpp>
#include <cohort/documents/impl/trainings.cpp>
