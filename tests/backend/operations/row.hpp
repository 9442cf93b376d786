// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/graph/network.hpp>
#include <cohort/random/stream.hpp>
#include <cstdint>

namespace operations {

using namespace cohort;

/// Extents that differ from seed to seed.
class draw {
 public:
  explicit draw(std::uint64_t seed) : stream_(seed, "operations") {}
  int between(int least, int most) {
    return least + static_cast<int>(stream_.below(drawn_++, static_cast<std::uint64_t>(most - least + 1)));
  }

 private:
  random_stream stream_;
  std::uint64_t drawn_ = 0;
};

/// An image that parameters have made, so that its gradient is under test: channels × height × width.
inline tensor image(builder& net, shape const& extents) {
  return net.input({2, extents[1], extents[2]}) | conv2d{.filters = extents[0], .kernel = 1};
}

/// An operation on random extents. A dense layer and a loss are put behind it where it has to be trained.
struct row {
  char const* name;
  tensor (*body)(builder&, draw&);
};

}  // namespace operations
