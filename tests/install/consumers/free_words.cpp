// SPDX-License-Identifier: Apache-2.0
// A program with `using namespace cohort` can still use common words as its own names, because Cohort's names
// of this kind are in inner namespaces. It can also have `using namespace std`.
#include <array>
#include <cohort/cohort.hpp>
#include <cohort/plan/parameter_store.hpp>
#include <functional>
#include <map>

struct address {};
struct border {};
struct command {};
struct completion {};
struct context {};
struct file_reader {};
struct file_writer {};
struct group {};
struct operation {};
struct pass {};
struct place {};
struct program {};
struct request {};
struct source {};
struct table {};
struct window {};
void lower() {}
void slide() {}
void read_file() {}
void read_text() {}
void require(bool) {}
void write_file() {}
char const* version = "1";

using namespace cohort;

struct all_of_them {
  address a;
  border b;
  command c;
  completion d;
  context e;
  file_reader f;
  file_writer g;
  pass h;
  place i;
  program j;
  source k;
  table l;
  window m;
  group n;
  operation o;
  request p;
};

void call_all_of_them() {
  lower();
  slide();
  read_file();
  read_text();
  require(*version == '1');
  write_file();
}

int names_of_the_standard_library() {
  using namespace std;
  array<int, 1> const one{1};
  map<int, int> const two{{1, 2}};
  return identity()(one[0]) + two.at(1);
}
