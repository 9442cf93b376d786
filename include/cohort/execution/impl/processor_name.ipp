// SPDX-License-Identifier: Apache-2.0
#include <cohort/execution/isa.hpp>
#include <cohort/execution/processor_name.hpp>
#include <cstring>

namespace cohort {

std::string processor_name() {
  std::string name;
#if defined(__x86_64__) || defined(__i386__)
  unsigned words[4]{};
  constexpr unsigned first = 0x80000002, last = 0x80000004;
  for (unsigned leaf = first; leaf <= last; ++leaf) {
    char letters[sizeof words + 1]{};
    if (!__get_cpuid(leaf, &words[0], &words[1], &words[2], &words[3])) break;
    std::memcpy(letters, words, sizeof words);
    name += letters;
  }
  while (!name.empty() && name.back() == ' ') name.pop_back();
  if (__get_cpuid(1, &words[0], &words[1], &words[2], &words[3])) name += " #" + std::to_string(words[0]);
  name += ", ";
#endif
  return name + std::string(name_of(best_isa()));
}

}  // namespace cohort
