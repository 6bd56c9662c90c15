// Keys to characters.
// sources: kernel/device/keyboard_decoder.cpp
#include "device/keyboard_decoder.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace corral {
namespace {

std::string typed(const std::vector<int>& codes) {
  KeyboardDecoder decoder;
  std::string out;
  for (int code : codes) out.append(decoder.decode(static_cast<u8>(code)));
  return out;
}

TEST(KeyboardDecoder, LettersDigitsAndReleases) {
  EXPECT_EQ(typed({0x1e, 0x9e, 0x30, 0xb0, 0x02, 0x82, 0x39, 0x1c}), "ab1 \r");
}

TEST(KeyboardDecoder, ShiftAndCapsLock) {
  EXPECT_EQ(typed({0x2a, 0x1e, 0x02, 0xaa, 0x1e}), "A!a");
  EXPECT_EQ(typed({0x36, 0x0c, 0xb6, 0x0c}), "_-");
  EXPECT_EQ(typed({0x3a, 0xba, 0x1e, 0x02, 0x2a, 0x1e, 0xaa, 0x3a, 0xba, 0x1e}), "A1aa");
}

TEST(KeyboardDecoder, ControlAndAlt) {
  EXPECT_EQ(typed({0x1d, 0x2e, 0x9d, 0x2e}),
            "\x03"
            "c");
  EXPECT_EQ(typed({0xe0, 0x1d, 0x20, 0xe0, 0x9d, 0x20}),
            "\x04"
            "d");
  EXPECT_EQ(typed({0x38, 0x30, 0xb8, 0x30}),
            "\x1b"
            "bb");
  EXPECT_EQ(typed({0x1d, 0x1a, 0x9d}), "\x1b");
  EXPECT_EQ(typed({0x1d, 0x39, 0x9d}), std::string(1, '\0'));
}

TEST(KeyboardDecoder, EditingAndFunctionKeys) {
  EXPECT_EQ(typed({0xe0, 0x48, 0xe0, 0xc8, 0xe0, 0x50, 0xe0, 0x4d, 0xe0, 0x4b}), "\x1b[A\x1b[B\x1b[C\x1b[D");
  EXPECT_EQ(typed({0xe0, 0x47, 0xe0, 0x4f, 0xe0, 0x49, 0xe0, 0x51, 0xe0, 0x52, 0xe0, 0x53}),
            "\x1b[H\x1b[F\x1b[5~\x1b[6~\x1b[2~\x1b[3~");
  EXPECT_EQ(typed({0x3b, 0x3f, 0x44, 0x57, 0x58}), "\x1bOP\x1b[15~\x1b[21~\x1b[23~\x1b[24~");
  EXPECT_EQ(typed({0x0e, 0x0f, 0x01}), "\x7f\t\x1b");
}

TEST(KeyboardDecoder, FalseShiftsAroundGreyKeysDoNothing) {
  EXPECT_EQ(typed({0xe0, 0x2a, 0xe0, 0x48, 0xe0, 0xc8, 0xe0, 0xaa, 0x1e}), "\x1b[Aa");
}

TEST(KeyboardDecoder, KeypadFollowsNumberLock) {
  EXPECT_EQ(typed({0x47, 0x4a, 0x4e, 0x52}), "7-+0");
  EXPECT_EQ(typed({0x45, 0xc5, 0x47, 0x48, 0x4a, 0x45, 0xc5, 0x48}), "\x1b[H\x1b[A-8");
  EXPECT_EQ(typed({0xe0, 0x35, 0xe0, 0x1c}), "/\r");
}

TEST(KeyboardDecoder, PauseSendsNothing) {
  EXPECT_EQ(typed({0xe1, 0x1d, 0x45, 0xe1, 0x9d, 0xc5, 0x1e, 0x47}), "a7");
}

TEST(KeyboardDecoder, TakesEveryByte) {
  KeyboardDecoder decoder;
  for (int round = 0; round < 3; ++round) {
    for (int a = 0; a < 256; ++a) {
      for (int b = 0; b < 256; ++b) {
        EXPECT_LE(decoder.decode(static_cast<u8>(a)).size(), KeyboardDecoder::most_bytes);
        EXPECT_LE(decoder.decode(static_cast<u8>(b)).size(), KeyboardDecoder::most_bytes);
      }
    }
  }
}

}  // namespace
}  // namespace corral
