// The screen's interpreter: what a terminal program sends, and what must never upset it.
// sources: kernel/device/text_screen.cpp kernel/device/text_screen_edit.cpp
#include "device/text_screen.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace corral {
namespace {

std::string row_text(const TextScreen& screen, u32 row) {
  std::string text;
  for (TextScreen::Cell cell : screen.row(row)) text.push_back(static_cast<char>(cell.character));
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

u8 colours_at(const TextScreen& screen, u32 row, u32 column) {
  return screen.row(row)[column].colours;
}

#define EXPECT_CURSOR(screen, row, column)       \
  do {                                           \
    EXPECT_EQ((screen).cursor_row(), row);       \
    EXPECT_EQ((screen).cursor_column(), column); \
  } while (false)

TEST(TextScreen, TextAndLines) {
  TextScreen screen;
  screen.write("hello\r\nworld");
  EXPECT_EQ(row_text(screen, 0), "hello");
  EXPECT_EQ(row_text(screen, 1), "world");
  EXPECT_CURSOR(screen, 1u, 5u);
  screen.write("\b\b \ttab\n|");
  EXPECT_EQ(row_text(screen, 1), "wor d   tab");
  EXPECT_CURSOR(screen, 2u, 12u);
}

TEST(TextScreen, WrapsOnlyWhenTheNextCharacterComes) {
  TextScreen screen;
  screen.write(std::string(80, 'x'));
  EXPECT_CURSOR(screen, 0u, 79u);
  screen.write("\r\n");
  EXPECT_CURSOR(screen, 1u, 0u);
  screen.write(std::string(81, 'y'));
  EXPECT_CURSOR(screen, 2u, 1u);
  EXPECT_EQ(row_text(screen, 2), "y");
  screen.write("\x1b[?7l" + std::string(100, 'z'));
  EXPECT_CURSOR(screen, 2u, 79u);
}

TEST(TextScreen, ScrollsAtTheBottom) {
  TextScreen screen;
  for (int i = 0; i < 30; ++i) screen.write("line " + std::to_string(i) + "\r\n");
  EXPECT_EQ(row_text(screen, 0), "line 6");
  EXPECT_EQ(row_text(screen, 23), "line 29");
  EXPECT_EQ(row_text(screen, 24), "");
}

TEST(TextScreen, CursorPositions) {
  TextScreen screen;
  screen.write("\x1b[12;40H*");
  EXPECT_EQ(screen.row(11)[39].character, '*');
  screen.write("\x1b[H");
  EXPECT_CURSOR(screen, 0u, 0u);
  screen.write("\x1b[999;999f");
  EXPECT_CURSOR(screen, 24u, 79u);
  screen.write("\x1b[3A\x1b[5D");
  EXPECT_CURSOR(screen, 21u, 74u);
  screen.write("\x1b[2B\x1b[C");
  EXPECT_CURSOR(screen, 23u, 75u);
  screen.write("\x1b[99A\x1b[99D\x1b[0;0H\x1b[5G\x1b[7d");
  EXPECT_CURSOR(screen, 6u, 4u);
  screen.write("\x1b[2E");
  EXPECT_CURSOR(screen, 8u, 0u);
}

TEST(TextScreen, SavesAndRestores) {
  TextScreen screen;
  screen.write(
      "\x1b[5;6H\x1b[31m\x1b"
      "7\x1b[20;20H\x1b[0mx\x1b"
      "8y");
  EXPECT_EQ(screen.row(4)[5].character, 'y');
  EXPECT_EQ(colours_at(screen, 4, 5), 0x04);
  screen.write("\x1b[3;3H\x1b[s\x1b[H\x1b[u");
  EXPECT_CURSOR(screen, 2u, 2u);
}

TEST(TextScreen, Erases) {
  TextScreen screen;
  for (int i = 0; i < 5; ++i) screen.write("abcdef\r\n");
  screen.write("\x1b[2;3H\x1b[K");
  EXPECT_EQ(row_text(screen, 1), "ab");
  screen.write("\x1b[3;3H\x1b[1K");
  EXPECT_EQ(row_text(screen, 2), "   def");
  screen.write("\x1b[4;3H\x1b[J");
  EXPECT_EQ(row_text(screen, 3), "ab");
  EXPECT_EQ(row_text(screen, 4), "");
  screen.write("\x1b[44m\x1b[2J");
  EXPECT_EQ(row_text(screen, 0), "");
  EXPECT_EQ(colours_at(screen, 0, 0), 0x17);  // ANSI blue is VGA 1
  EXPECT_CURSOR(screen, 3u, 2u);
}

TEST(TextScreen, Colours) {
  TextScreen screen;
  screen.write("\x1b[31ma\x1b[1mb\x1b[0mc\x1b[93md\x1b[42me\x1b[7mf\x1b[mg\x1b[38;5;12mh\x1b[48;5;196mi\x1b[38;2;0;250;0mj");
  const u8 expected[] = {0x04, 0x0c, 0x07, 0x0e, 0x2e, 0xe2, 0x07, 0x09, 0xc9, 0xca};
  for (u32 i = 0; i < std::size(expected); ++i) EXPECT_EQ(colours_at(screen, 0, i), expected[i]) << i;
  screen.write("\x1b[0;38;5mk\x1b[0;39;49ml");
  EXPECT_EQ(row_text(screen, 0), "abcdefghijkl");
  EXPECT_EQ(colours_at(screen, 0, 11), 0x07);
}

TEST(TextScreen, EightColoursAreEight) {
  TextScreen screen;
  bool seen[16] = {};
  for (int i = 0; i < 8; ++i) screen.write("\x1b[3" + std::to_string(i) + "m*\x1b[9" + std::to_string(i) + "m*");
  for (u32 i = 0; i < 16; ++i) seen[colours_at(screen, 0, i) & 15] = true;
  for (bool one : seen) EXPECT_TRUE(one);
}

TEST(TextScreen, RegionsInsertsAndDeletes) {
  TextScreen screen;
  for (int i = 0; i < 25; ++i) screen.write("\x1b[" + std::to_string(i + 1) + ";1H" + std::to_string(i));
  screen.write("\x1b[5;10r\x1b[10;1H\n");  // scrolls rows 4 … 9 only
  EXPECT_EQ(row_text(screen, 3), "3");
  EXPECT_EQ(row_text(screen, 4), "5");
  EXPECT_EQ(row_text(screen, 9), "");
  EXPECT_EQ(row_text(screen, 10), "10");
  screen.write("\x1b[5;1H\x1bM");
  EXPECT_EQ(row_text(screen, 4), "");
  EXPECT_EQ(row_text(screen, 5), "5");
  screen.write("\x1b[r\x1b[1;1H\x1b[2M");
  EXPECT_EQ(row_text(screen, 0), "2");
  screen.write("\x1b[L");
  EXPECT_EQ(row_text(screen, 0), "");
  EXPECT_EQ(row_text(screen, 1), "2");
  screen.write("\x1b[2J\x1b[Habcdef\x1b[1;3H\x1b[2@XY\x1b[1;1H\x1b[P\x1b[1;7H\x1b[5X");
  EXPECT_EQ(row_text(screen, 0), "bXYcde");
}

TEST(TextScreen, ShowsWhatChanged) {
  TextScreen screen;
  EXPECT_EQ(screen.take_changed_rows(), (1u << 25) - 1);
  EXPECT_EQ(screen.take_changed_rows(), 0u);
  screen.write("\x1b[4;1Hx");
  EXPECT_EQ(screen.take_changed_rows(), 1u << 3);
  screen.write("\x1b[?25l");
  EXPECT_FALSE(screen.cursor_visible());
  screen.write("\x1b[?25h");
  EXPECT_TRUE(screen.cursor_visible());
}

TEST(TextScreen, WhatIsNotUnderstoodLeavesNoTrace) {
  TextScreen screen;
  screen.write(
      "a\x1b]0;a title\x07"
      "b\x1b(Bc\x1b[>1cd\x1b[?1049he\x1b[1;2;3;4;5;6;7;8;9;1;2;3;4;5;6;7;8;9mf\x1b[12\x18g");
  EXPECT_EQ(row_text(screen, 0), "abcdefg");
  screen.write("\xc3\xa9\xe2\x94\x80\xf0\x9f\x98\x80h");
  EXPECT_EQ(row_text(screen, 0), "abcdefg???h");
}

TEST(TextScreen, StaysWholeWhateverComes) {
  std::mt19937 random{1};
  TextScreen screen;
  const std::string likely = "\x1b[;?0123456789ABCDEFGHJKLMPSTXmrsudhl@\n\r\b\t8 7";
  for (int i = 0; i < 300'000; ++i) {
    const char byte = random() % 8 == 0 ? static_cast<char>(random()) : likely[random() % likely.size()];
    screen.write({&byte, 1});
    ASSERT_LT(screen.cursor_row(), TextScreen::rows);
    ASSERT_LT(screen.cursor_column(), TextScreen::columns);
  }
}

}  // namespace
}  // namespace corral
