// SPDX-License-Identifier: Apache-2.0
#include <cohort/configuration/impl/layers_codec.ipp>
#include <cohort/configuration/impl/optimizer_fields.ipp>
#include <cohort/configuration/impl/run_document.ipp>
