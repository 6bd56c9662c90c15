// Text that grows: no piece of it is ever cut; what does not fit makes it incomplete.
// sources: kernel/fs/text_buffer.cpp
#include "fs/text_buffer.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "memory/heap.h"

namespace corral {

namespace {
size_t most_at_once = SIZE_MAX;
}

void* memory::allocate(size_t size) {
  return size <= most_at_once ? std::malloc(size) : nullptr;
}
void memory::release(void* pointer) {
  std::free(pointer);
}

namespace {

using fs::TextBuffer;

TEST(TextBuffer, APieceOfAnyLengthIsWhole) {
  const std::string part(3000, 'x');
  TextBuffer text;
  text.print("begin ");
  text.print("{} and {}\n", part, part);
  text.append("end");
  EXPECT_TRUE(text.complete());
  EXPECT_EQ(text.text(), "begin " + part + " and " + part + "\nend");
}

// A table of lines, as makers with room of a given size write it: format_to cuts what does not fit.
size_t table(std::span<char> room, u32 lines) {
  size_t used = 0;
  for (u32 i = 0; i < lines; ++i) used += format_to(room.subspan(used), "core {}: a line of some length\n", i).size();
  return used;
}

TEST(TextBuffer, WhatIsWrittenIntoItsRoomIsWhole) {
  for (const u32 lines : {0u, 1u, 15u, 16u, 17u, 100u, 4096u}) {
    std::string expected = "head\n";
    for (u32 i = 0; i < lines; ++i) expected += "core " + std::to_string(i) + ": a line of some length\n";
    TextBuffer text;
    text.append("head\n");
    text.append_from([&](std::span<char> room) { return table(room, lines); }, 64);
    EXPECT_TRUE(text.complete());
    EXPECT_EQ(text.text(), expected);
  }
}

TEST(TextBuffer, WhatDoesNotFitIsNoText) {
  TextBuffer text;
  text.append_from([&](std::span<char> room) { return table(room, 200'000); }, 1 << 20);
  EXPECT_FALSE(text.complete()) << "its bound";
  TextBuffer second;
  most_at_once = 4096;
  second.append_from([&](std::span<char> room) { return table(room, 1000); }, 64);
  EXPECT_FALSE(second.complete()) << "no memory";
  TextBuffer third;
  third.print("{}", std::string(9000, 'x'));
  EXPECT_FALSE(third.complete());
  most_at_once = SIZE_MAX;
}

}  // namespace
}  // namespace corral
