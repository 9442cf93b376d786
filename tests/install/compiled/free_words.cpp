// SPDX-License-Identifier: Apache-2.0
// A program that says `using namespace cohort` and still uses common words for things of its own: Cohort's names
// of this kind are in inner namespaces.
#include <cohort/cohort.hpp>
#include <cohort/plan/parameter_store.hpp>

struct address {};
struct border {};
struct command {};
struct completion {};
struct context {};
struct file_reader {};
struct file_writer {};
struct pass {};
struct place {};
struct program {};
struct source {};
struct table {};
struct window {};
void lower() {}
void slide() {}
void read_file() {}
void read_text() {}
void write_file() {}

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
};

void call_all_of_them() {
  lower();
  slide();
  read_file();
  read_text();
  write_file();
}
