// What a terminal makes of characters: lines, editing, echo, signals, raw mode.
// sources: kernel/fs/line_discipline.cpp
#include "fs/line_discipline.h"

#include <gtest/gtest.h>

#include <string>

namespace corral::fs {
namespace {

class Screen final : public LineDiscipline::Echo {
 public:
  void show(char c) override { text.push_back(c); }
  std::string text;
};

struct Terminal {
  LineDiscipline discipline{tty::console_settings()};
  Screen screen;

  LineDiscipline::Effect type(std::string_view text) {
    LineDiscipline::Effect last;
    for (char c : text) last = discipline.input(static_cast<u8>(c), screen);
    return last;
  }
  // One read of at most `size` bytes; "nothing" when it would wait.
  std::string read(size_t size = 1000) {
    if (!discipline.ready()) return "nothing";
    std::string bytes(size, '?');
    const LineDiscipline::Taken taken = discipline.peek({bytes.data(), bytes.size()});
    discipline.consume(taken.consumed);
    bytes.resize(taken.bytes);
    return bytes;
  }
  std::string print(std::string_view text) {
    std::string out;
    for (char c : text) {
      char bytes[8];
      out.append(bytes, discipline.output(c, bytes));
    }
    return out;
  }
  void local(u32 off, u32 on = 0) {
    tty::Termios settings = discipline.settings();
    settings.local = (settings.local & ~off) | on;
    discipline.set_settings(settings);
  }
  void raw() { local(tty::icanon | tty::echo | tty::isig | tty::iexten); }
};

TEST(LineDiscipline, GivesWholeLines) {
  Terminal t;
  t.type("ab");
  EXPECT_EQ(t.read(), "nothing");
  EXPECT_TRUE(t.type("c\n").ready);
  t.type("next");
  EXPECT_EQ(t.discipline.available(), 4u);
  EXPECT_EQ(t.read(), "abc\n");
  EXPECT_EQ(t.read(), "nothing");
}

TEST(LineDiscipline, GivesALineInPieces) {
  Terminal t;
  t.type("abcdef\nxyz\n");
  EXPECT_EQ(t.read(4), "abcd");
  EXPECT_EQ(t.read(100), "ef\n");
  EXPECT_EQ(t.read(100), "xyz\n");
}

TEST(LineDiscipline, TurnsReturnIntoNewline) {
  Terminal t;
  t.type("ls\r");
  EXPECT_EQ(t.read(), "ls\n");
  EXPECT_EQ(t.screen.text, "ls\r\n");
}

TEST(LineDiscipline, ErasesCharacters) {
  Terminal t;
  t.type(
      "abx\x7f"
      "c\n");
  EXPECT_EQ(t.read(), "abc\n");
  EXPECT_EQ(t.screen.text, "abx\b \bc\r\n");
  t.type("\x7f\x7f\n");  // nothing to erase
  EXPECT_EQ(t.read(), "\n");
}

TEST(LineDiscipline, ErasesWholeCharactersOfUtf8) {
  Terminal t;
  t.type(
      "a\xc3\xa4\x7f"
      "b\n");
  EXPECT_EQ(t.read(), "ab\n");
  EXPECT_EQ(t.screen.text, "a\xc3\xa4\b \bb\r\n");
}

TEST(LineDiscipline, ErasesControlCharactersWithBothColumns) {
  Terminal t;
  t.type("\x01\x7f\n");
  EXPECT_EQ(t.screen.text, "^A\b \b\b \b\r\n");
  EXPECT_EQ(t.read(), "\n");
}

TEST(LineDiscipline, ErasesTabsByTheirColumns) {
  Terminal t;
  (void)t.print("> ");
  t.type("a\t\x7f");
  std::string expected = "a\t";
  for (int i = 0; i < 5; ++i) expected += "\b \b";  // from column 3 to 8
  EXPECT_EQ(t.screen.text, expected);
}

TEST(LineDiscipline, ErasesWordsAndLines) {
  Terminal t;
  t.type("one two  \x17three\n");
  EXPECT_EQ(t.read(), "one three\n");
  t.type("all of it\x15new\n");
  EXPECT_EQ(t.read(), "new\n");
}

TEST(LineDiscipline, EndOfFile) {
  Terminal t;
  EXPECT_TRUE(t.type("\x04").ready);
  EXPECT_EQ(t.read(), "");
  EXPECT_EQ(t.read(), "nothing");
  t.type("part\x04");  // in the middle: gives what is there
  EXPECT_EQ(t.read(), "part");
  EXPECT_EQ(t.read(), "nothing");
  t.type("full\x04");
  EXPECT_EQ(t.read(4), "full");  // the mark goes with the last byte: no end of file follows
  EXPECT_EQ(t.read(), "nothing");
}

TEST(LineDiscipline, LiteralNext) {
  Terminal t;
  t.type(
      "a\x16\x03"
      "b\n");
  EXPECT_EQ(t.read(),
            "a\x03"
            "b\n");
}

TEST(LineDiscipline, SignalsThrowTheLineAway) {
  Terminal t;
  t.type("partial");
  const LineDiscipline::Effect effect = t.type("\x03");
  EXPECT_EQ(effect.signal, 2);
  EXPECT_TRUE(effect.flushed);
  EXPECT_EQ(t.type("\x1c").signal, 3);
  EXPECT_EQ(t.type("\x1a").signal, 20);
  t.type("x\n");
  EXPECT_EQ(t.read(), "x\n");
  EXPECT_EQ(t.screen.text, "partial^C^\\^Zx\r\n");
}

TEST(LineDiscipline, NoSignalsWithoutIsig) {
  Terminal t;
  t.raw();
  EXPECT_EQ(t.type("\x03").signal, 0);
  EXPECT_EQ(t.read(), "\x03");
}

TEST(LineDiscipline, RawModeGivesEveryCharacter) {
  Terminal t;
  t.raw();
  EXPECT_TRUE(t.type("a").ready);
  EXPECT_EQ(t.read(), "a");
  t.type("\x7f\x04\x1b[A");
  EXPECT_EQ(t.read(), "\x7f\x04\x1b[A");
  EXPECT_EQ(t.screen.text, "");
}

TEST(LineDiscipline, WhatWasTypedAheadSurvivesChangesOfMode) {
  Terminal t;
  t.type("ls\nec");
  t.raw();
  EXPECT_EQ(t.read(), "ls\nec");
  t.type("ho");
  t.local(0, tty::icanon);
  EXPECT_EQ(t.read(), "ho");  // counts as a finished line
  t.type("x\n");
  EXPECT_EQ(t.read(), "x\n");
}

TEST(LineDiscipline, EchoOffShowsNothingButNewlineIfAsked) {
  Terminal t;
  t.local(tty::echo, tty::echonl);
  t.type("secret\n");
  EXPECT_EQ(t.screen.text, "\r\n");
  EXPECT_EQ(t.read(), "secret\n");
}

TEST(LineDiscipline, StopsAndRestartsOutput) {
  Terminal t;
  t.type("\x13");
  EXPECT_TRUE(t.discipline.output_stopped());
  EXPECT_TRUE(t.type("\x11").restarted);
  EXPECT_FALSE(t.discipline.output_stopped());
  EXPECT_FALSE(t.type("\x11").restarted);
}

TEST(LineDiscipline, OutputGetsCarriageReturns) {
  Terminal t;
  EXPECT_EQ(t.print("a\nb"), "a\r\nb");
  tty::Termios settings = t.discipline.settings();
  settings.output = 0;
  t.discipline.set_settings(settings);
  EXPECT_EQ(t.print("a\nb"), "a\nb");
  settings.output = tty::opost | tty::tab_mask;
  t.discipline.set_settings(settings);
  EXPECT_EQ(t.print("\r1234\t|"), "\r1234    |");
}

TEST(LineDiscipline, AFullLineKeepsRoomForItsEnd) {
  Terminal t;
  t.local(tty::echo);
  t.type(std::string(10000, 'x'));
  t.type("\n");
  EXPECT_EQ(t.read(20000).size(), LineDiscipline::capacity);
  t.type("again\n");
  EXPECT_EQ(t.read(), "again\n");
}

TEST(LineDiscipline, AFullRawBufferLosesTheRest) {
  Terminal t;
  t.raw();
  t.type(std::string(10000, 'x'));
  EXPECT_EQ(t.read(20000).size(), LineDiscipline::capacity);
  EXPECT_EQ(t.read(), "nothing");
}

TEST(LineDiscipline, PositionsWrapAround) {
  Terminal t;
  t.local(tty::echo);
  for (int i = 0; i < 5000; ++i) {
    const std::string line = std::to_string(i) + "\n";
    t.type(line);
    ASSERT_EQ(t.read(), line);
  }
}

}  // namespace
}  // namespace corral::fs
