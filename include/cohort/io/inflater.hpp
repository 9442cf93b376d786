// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace cohort::io {

/// Decompresses one stream in the format of zlib or gzip: gzip::inflate of the component zlib. The core
/// receives the function from its caller, because the core does not depend on zlib.
///
/// Parameters  `to` receives the first bytes of the result, as many as fit. `max_bytes` bounds the size of
///           the whole result. `where` describes the stream for the message of an error.
/// Returns   the size of the whole result, which may be larger than `to`.
/// Errors    data_error if `packed` is not exactly one intact stream, or if the result exceeds max_bytes.
using inflater =
    std::function<std::uint64_t(std::span<std::byte const> packed, std::span<std::byte> to,
                                std::uint64_t max_bytes, std::function<std::string()> const& where)>;

}  // namespace cohort::io
