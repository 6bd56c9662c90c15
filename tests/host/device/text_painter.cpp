// Characters become pixels inside the picture, and nowhere else.
// sources: kernel/device/text_painter.cpp
#include "device/text_painter.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace corral {
namespace {

constexpr PixelFormat usual{16, 8, 0};
constexpr u32 untouched = 0xdeadbeef;

std::unique_ptr<TextPainter::Glyph[]> plain_font() {
  constexpr size_t count = TextPainter::last_character - TextPainter::first_character + 1;
  auto font = std::make_unique<TextPainter::Glyph[]>(count);
  font['A' - TextPainter::first_character][0] = 0x80;  // one dot, top left
  font['?' - TextPainter::first_character][3] = 0xff;
  return font;
}

class Painter : public testing::Test {
 protected:
  bool start(u32 width, u32 height, u32 pitch) {
    pitch_ = pitch;
    pixels_.assign(size_t{pitch} * height, untouched);
    return painter_.initialise(pixels_.data(), pitch, width, height, usual,
                               *reinterpret_cast<const TextPainter::Font*>(font_.get()));
  }
  u32 at(u32 x, u32 y) { return pixels_[size_t{y} * pitch_ + x]; }

  std::unique_ptr<TextPainter::Glyph[]> font_ = plain_font();
  std::vector<u32> pixels_;
  u32 pitch_ = 0;
  TextPainter painter_;
};

TEST_F(Painter, TooSmallAPictureIsRefused) {
  EXPECT_FALSE(start(639, 400, 640));
  EXPECT_FALSE(start(640, 399, 640));
  EXPECT_FALSE(start(800, 600, 799));
  EXPECT_TRUE(start(640, 400, 640));
  EXPECT_EQ(painter_.scale(), 1u);
}

TEST_F(Painter, TextIsEnlargedAndInTheMiddle) {
  ASSERT_TRUE(start(1366, 868, 1400));
  EXPECT_EQ(painter_.scale(), 2u);
  painter_.paint(0, 0, {'A', 0x4e}, false);
  const u32 left = (1366 - 1280) / 2;
  const u32 top = (868 - 800) / 2;
  for (u32 y : {0u, 1u}) {
    for (u32 x : {0u, 1u}) EXPECT_EQ(at(left + x, top + y), 0xffff55u) << "the dot, bright yellow";
  }
  EXPECT_EQ(at(left + 2, top), 0xaa0000u) << "the background, red";
  EXPECT_EQ(at(left + 15, top + 31), 0xaa0000u);
  EXPECT_EQ(at(left + 16, top), untouched);
  EXPECT_EQ(at(left - 1, top), untouched);
  EXPECT_EQ(at(left, top + 32), untouched);
}

TEST_F(Painter, TheCursorIsABarBelow) {
  ASSERT_TRUE(start(640, 400, 640));
  painter_.paint(24, 79, {' ', 0x07}, true);
  for (u32 x = 632; x < 640; ++x) {
    EXPECT_EQ(at(x, 397), 0u);
    EXPECT_EQ(at(x, 398), 0xaaaaaau);
    EXPECT_EQ(at(x, 399), 0xaaaaaau);
  }
}

TEST_F(Painter, WhatTheFontLacksIsAQuestionMark) {
  ASSERT_TRUE(start(640, 400, 640));
  painter_.paint(0, 0, {0xc3, 0x07}, false);
  EXPECT_EQ(at(0, 3), 0xaaaaaau);
}

TEST_F(Painter, NothingOutsideTheScreenIsDrawn) {
  ASSERT_TRUE(start(640, 400, 704));
  painter_.clear();
  for (u32 row = 0; row < 40; ++row) {
    for (u32 column = 0; column < 100; ++column) painter_.paint(row, column, {'?', 0x70}, true);
  }
  for (u32 y = 0; y < 400; ++y) {
    for (u32 x = 640; x < 704; ++x) ASSERT_EQ(at(x, y), untouched) << x << ", " << y;
  }
}

}  // namespace
}  // namespace corral
