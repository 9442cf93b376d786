// SPDX-License-Identifier: Apache-2.0
// needs: yaml
// Malformed YAML: a text is refused by a data_error with its position, or it becomes JSON values within the
// limits. If the values are a run document, the document is unchanged after it is written and read again.
// To run the fuzzer without a time limit (it writes new inputs to the first folder):
//   build/…/tests/backends_yaml_yaml_fuzz some/folder tests/backends/yaml/yaml_fuzz
#include <cohort/configuration/run_document.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/yaml.hpp>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace cohort;

constexpr io::json_limits limits{.max_bytes = 4096, .max_values = 1000, .max_depth = 20};

void require(bool holds) {
  if (!holds) std::abort();
}

/// Reads every value. Returns the number of values.
std::size_t count(io::json_value value, int depth) {
  require(depth <= limits.max_depth);
  if (value.kind() == io::json_kind::number) require(value.number() - value.number() == 0);
  if (value.kind() == io::json_kind::string) require(value.string().size() <= 2 * limits.max_bytes);
  if (value.kind() != io::json_kind::array && value.kind() != io::json_kind::object) return 1;
  std::size_t sum = 1;
  for (io::json_value const one : value.items()) {
    sum += count(one, depth + 1);
    if (value.kind() == io::json_kind::object) require(value.at(one.key()).path() == one.path());
  }
  return sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  // A copy of exactly this size, so that the address sanitizer detects reads past the end.
  std::vector<char> const copy(data, data + size);
  try {
    io::json_document const parsed = io::parse_yaml({copy.data(), copy.size()}, "text", limits);
    require(count(parsed.root(), 0) <= limits.max_values);
    run_document const run = run_document::from(parsed.root());
    require(run_document::from_json(to_json(run)) == run);
  } catch (data_error const& refused) {
    std::string_view const where = refused.why().where;
    require(where == "text" || where.starts_with("text:"));
  }
  return 0;
}
