// SPDX-License-Identifier: Apache-2.0
// Writes messages of every kind and coding for decode_fuzz.cpp into a folder, tests/codec/decode_fuzz. Run it
// by hand when the format changes. (The fuzzer found small_sent_twice: an element that is both coded and a
// multiple.)
#include <cohort/codec/threshold_compressor.hpp>
#include <cohort/codec/top_k_compressor.hpp>
#include <fstream>
#include <string>
#include <vector>

using namespace cohort;

int main(int argc, char** argv) {
  if (argc != 2) return 1;
  constexpr message_stamp stamp{.run = 7, .step = 3, .rank = 1, .examples = 9, .weight = 9};
  constexpr char sealed = 2, corrected = 4;  // the first byte of a fuzzer's input
  for (bool const large : {false, true}) {
    tensor_table const table = large ? tensor_table{{"a", 40'000}, {"b", 25'999}, {"c", 1}}
                                     : tensor_table{{"a", 300}, {"b", 1}, {"c", 700}};
    std::size_t const n = table.elements();
    random_stream const stream(1, "x");
    std::vector<float> x(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = stream.normal<float>(i);
    auto const put = [&](std::string const& name, char how, std::span<std::byte const> message) {
      std::ofstream file(std::string(argv[1]) + (large ? "/large_" : "/small_") + name, std::ios::binary);
      file.put(static_cast<char>(how | static_cast<char>(large)));
      file.write(reinterpret_cast<char const*>(message.data()), static_cast<std::streamsize>(message.size()));
    };
    auto const encode = [&](std::string const& name, double t, bool per_tensor, bool multiples) {
      threshold_compressor codec(table, {.threshold = threshold::fixed{t}, .per_tensor = per_tensor});
      std::vector<float> r(n), y = x;
      if (multiples) y[3] = 1e9F, y[n - 1] = -1e8F;
      put(name, corrected, codec.encode(stamp, r, y));
    };
    encode("gaps", 2.5, false, false);
    encode("gaps_each", 3, true, false);
    encode("multiples", 3.5, true, true);
    encode("empty", 100, false, false);
    std::vector<float> r(n);
    top_k_compressor values(table, {.density = large ? 1e-3 : 0.05});
    put("values", corrected, values.encode(stamp, r, x));
    if (large) continue;
    encode("bitmap", 0.5, false, false);
    encode("bitmap_multiples", 1e-3, true, true);
    message_codec plain(table);
    put("nothing", 0, plain.nothing(stamp));
    put("not_finite", sealed, plain.not_finite(stamp));
  }
}
