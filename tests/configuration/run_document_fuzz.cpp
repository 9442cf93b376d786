// SPDX-License-Identifier: Apache-2.0
// Malformed run documents: a text is refused by a data_error with its position, or it becomes a document. The
// document is unchanged after it is written and read again, also after a field was set.
// To run the fuzzer without a time limit (it writes new inputs to the first folder):
//   build/…/tests/configuration_run_document_fuzz some/folder tests/configuration/run_document_fuzz
#include <algorithm>
#include <cohort/configuration/run_document.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/layer/recurrent.hpp>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace cohort;

void require(bool holds) {
  if (!holds) std::abort();
}

/// A document that passes the checks contains a network or names a model.
void require_checked(run_document const& run) {
  try {
    run.check();
    require(run.network.layers.has_value() == run.network.model.empty());
  } catch (setting_error const& refused) {
    require(!refused.why().where.empty() && !refused.why().expected.empty());
  }
}

}  // namespace

/// The text up to the first character 0 is a document. A path, another character 0 and a value follow.
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  // A copy of exactly this size, so that the address sanitizer detects reads past the end.
  std::vector<char> const copy(data, data + size);
  std::string_view const all(copy.data(), copy.size());
  std::size_t const end = std::min(all.find('\0'), all.size());
  try {
    run_document run = run_document::from_json(all.substr(0, end), "text");
    require(run_document::from_json(to_json(run)) == run);
    require_checked(run);
    if (end == all.size()) return 0;
    std::string_view const rest = all.substr(end + 1);
    std::size_t const middle = std::min(rest.find('\0'), rest.size());
    std::string const before = to_json(run);
    try {
      run.set(rest.substr(0, middle), rest.substr(std::min(middle + 1, rest.size())), "text");
      require(run_document::from_json(to_json(run)) == run);
    } catch (data_error const&) {
      require(to_json(run) == before);
      throw;
    }
  } catch (data_error const& refused) {
    require(std::string_view(refused.why().where).starts_with("text"));
  }
  return 0;
}
