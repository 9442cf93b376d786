// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdlib>
#include <optional>
#include <string>

namespace cohort_test {

/// Sets an environment variable, or removes it if the value is null, until the end of a scope.
class with_variable {
 public:
  with_variable(char const* name, char const* value) : name_(name) {
    if (char const* const old = std::getenv(name)) old_ = old;
    set(value);
  }
  with_variable(with_variable const&) = delete;
  with_variable& operator=(with_variable const&) = delete;
  ~with_variable() { set(old_ ? old_->c_str() : nullptr); }

 private:
  void set(char const* value) const { value ? ::setenv(name_, value, 1) : ::unsetenv(name_); }

  char const* name_;
  std::optional<std::string> old_;
};

}  // namespace cohort_test
