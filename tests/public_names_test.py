# SPDX-License-Identifier: Apache-2.0
"""Checks that programs may write `using namespace std; using namespace cohort;`: no public name of Cohort equals a name of
the standard library or of the system."""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import layering_test

# Names that both libraries have, and the reasons why programs can use them nevertheless.
SHARED = {"fill": "functions, overloaded", "to_string": "functions, overloaded", "select": "functions, overloaded",
          "launch": "std::launch needs <future>, which no header of Cohort includes",
          "error": "::error needs <error.h>, glibc's way to end a program"}
MOST_NAMES = 775  # public names of Cohort
STANDARD = """algorithm any array atomic barrier bit bitset charconv chrono cmath compare complex concepts condition_variable
coroutine csetjmp csignal cstdarg cstddef cstdint cstdio cstdlib cstring ctime deque exception filesystem format forward_list
fstream functional future initializer_list iomanip ios iostream iterator latch limits list locale map memory memory_resource
mutex new numbers numeric optional queue random ranges ratio regex scoped_allocator semaphore set shared_mutex source_location
span sstream stack stdexcept stop_token streambuf string string_view system_error thread tuple type_traits typeindex typeinfo
unordered_map unordered_set utility valarray variant vector""".split()
SYSTEM = """arpa/inet.h dirent.h dlfcn.h errno.h error.h fcntl.h glob.h grp.h math.h netdb.h netinet/in.h poll.h pthread.h pwd.h
sched.h search.h semaphore.h signal.h spawn.h stdio.h stdlib.h string.h strings.h sys/ioctl.h sys/mman.h sys/resource.h
sys/socket.h sys/stat.h sys/time.h sys/types.h sys/uio.h sys/wait.h termios.h time.h unistd.h wordexp.h""".split()


def public_names(text):
    """Names in namespace cohort, and its inner namespaces, in a header."""
    names = set()
    for namespace, name in layering_test.declared_names(text):
        inner = re.sub(r"^cohort(::)?", "", namespace)
        names.add(inner.split("::")[0] if inner else name)
    return names


def declared_in(scope, names):
    """The names of the list that headers of the standard library or of the system declare in the scope."""
    headers = "".join(f"#if __has_include(<{header}>)\n#include <{header}>\n#endif\n" for header in STANDARD + SYSTEM)
    uses = "".join(f"using {scope}::{name};\n" for name in names)
    first = headers.count("\n") + 2
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "names.cpp")
        source.write_text(f"{headers}namespace in_cohort {{\n{uses}}}\n", encoding="utf-8")
        run = subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", "-fsyntax-only", "-w",
                              "-ferror-limit=0" if "clang" in os.environ.get("CXX", "") else "-fmax-errors=0", source],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=200)
    refused = {int(number) for number in re.findall(r"names\.cpp:(\d+):\d+: error", run.stdout)}
    return {name for line, name in enumerate(names, start=first) if line not in refused}


class names_of_the_library(unittest.TestCase):
    def test_collide_with_other_names_only_as_listed(self):
        names = sorted(set().union(*(public_names(text) for _, text in layering_test.sources(
            "include/cohort/**/*.hpp", "backends/*/include/**/*.hpp"))))
        self.assertGreater(len(names), 400)
        self.assertLessEqual(len(names), MOST_NAMES, "a commit that adds public names raises the number and says why")
        shared = declared_in("std", names) | declared_in("", names)
        self.assertEqual(shared, set(SHARED))

    def test_are_found(self):
        self.assertEqual(public_names("""
namespace cohort {
struct array {
  int element = 0;
};
namespace init {
struct inner {};
}  // namespace init
namespace detail {
struct internal {};
}  // namespace detail
enum class group { one };
template <class T>
T const& name_of(T const& x) {
  int local = 0;
}
using identity = int;
inline constexpr int version = 1;
template <class B>
concept backend = true;
}  // namespace cohort
"""), {"array", "init", "group", "name_of", "identity", "version", "backend"})
        self.assertEqual(declared_in("std", ["array", "no_name", "launch"]), {"array", "launch"})
        self.assertEqual(declared_in("", ["group", "no_name"]), {"group"})


if __name__ == "__main__":
    unittest.main()
