// SPDX-License-Identifier: Apache-2.0
#include <cohort/zlib/detail/implementation.hpp>
#include <cohort/zlib/impl/mnist.ipp>
#include <cohort/zlib/impl/npz.ipp>
#include <cohort/zlib/impl/zip_contents.ipp>
#include <cohort/zlib/impl/zlib.ipp>

COHORT_IS_IMPLEMENTATION(cohort_zlib_src_hpp)
