// SPDX-License-Identifier: Apache-2.0
#include <cohort/tensor/impl/buffer.ipp>
#include <cohort/tensor/impl/huge_pages.ipp>
