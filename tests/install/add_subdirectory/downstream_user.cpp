// SPDX-License-Identifier: Apache-2.0
int layers_of_a_network();  // of the static library

int main() { return layers_of_a_network() == 3 ? 0 : 1; }
