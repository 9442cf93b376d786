// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/io/detail/field_codecs.hpp>
#include <cohort/layer/initialiser.hpp>

namespace cohort::detail {

/// An initialiser, selected by name.
struct initialiser_codec {
  void read(io::json_value from, initialiser& value) const;
  void write(io::json_writer& out, initialiser const& value) const;
  void schema(io::json_writer& out) const { write_reference(out, "initialiser"); }
  static void define(io::json_writer& out);
};

}  // namespace cohort::detail
