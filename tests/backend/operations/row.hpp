// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/graph/network.hpp>
#include <cohort/random/stream.hpp>
#include <cstdint>

namespace operations {

using namespace cohort;

/// Random extents, determined by the seed.
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

/// An image, channels × height × width, that depends on parameters, so that its gradient is tested.
inline tensor image(builder& net, shape const& extents) {
  return net.input({2, extents[1], extents[2]}) | conv2d{.filters = extents[0], .kernel = 1};
}

/// An operation on random extents. For training, a dense layer and a loss are appended.
struct row {
  char const* name;
  tensor (*body)(builder&, draw&);
};

}  // namespace operations
