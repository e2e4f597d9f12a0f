// Philox 4x32-10: the known-answer vectors published with the generator (Random123, kat_vectors).
#include <doctest/doctest.h>

#include "numeric/philox.hpp"

namespace {

using namespace posenc::num;

TEST_CASE("philox: the published known answers") {
  CHECK(philox({0, 0, 0, 0}, {0, 0}) == PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}) ==
        PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("philox: which bits an element takes") {
  const PhiloxCounter words = philox({3, 5, 7, 1}, {11, 2});
  const std::uint64_t seed = 11 + (std::uint64_t{2} << 32), row = 7 + (std::uint64_t{1} << 32);
  CHECK(philox_k(seed, 5, row, 6) == (std::uint64_t{words[1]} << 32 | words[0]) >> 11);
  CHECK(philox_k(seed, 5, row, 7) == (std::uint64_t{words[3]} << 32 | words[2]) >> 11);
  CHECK(philox_k(seed, 5, row, 6) < std::uint64_t{1} << 53);
}

}  // namespace
