// SPDX-License-Identifier: Apache-2.0
#include <cohort/cohort.h>
#include <stdio.h>

int main(void) {
  cohort_model* model = NULL;
  int32_t const code = cohort_open("/no/such/file", NULL, 1, &model);
  printf("%s: %s\n", cohort_version(), cohort_last_error());
  return cohort_abi_version() != COHORT_ABI_VERSION || code != cohort_file_error;
}
