// Messages of 9P2000.L: requests byte by byte, answers that are right, cut and absurd.
// sources: kernel/fs/nine/message.cpp
#include "fs/nine/message.h"

#include <gtest/gtest.h>

#include <vector>

namespace corral::test {
namespace {

using namespace fs::nine;

std::vector<u8> answer(u8 type, u16 tag, std::vector<u8> body) {
  std::vector<u8> bytes{0, 0, 0, 0, type, static_cast<u8>(tag), static_cast<u8>(tag >> 8)};
  bytes.insert(bytes.end(), body.begin(), body.end());
  bytes[0] = static_cast<u8>(bytes.size());
  return bytes;
}

TEST(NineMessage, RequestsAreWrittenAsThePapersSay) {
  u8 buffer[64];
  Encoder to{buffer};
  to.begin(Type::walk, 0x1234);
  to.word32(1);
  to.word32(2);
  to.word16(1);
  to.text("ab");
  ASSERT_EQ(to.finish(), 21u);
  const std::vector<u8> expected{21, 0, 0, 0, 110, 0x34, 0x12, 1, 0, 0, 0, 2, 0, 0, 0, 1, 0, 2, 0, 'a', 'b'};
  EXPECT_EQ(std::vector<u8>(buffer, buffer + 21), expected);
  EXPECT_FALSE(to.overflowed());
}

TEST(NineMessage, SizesCountWhatFollows) {
  u8 buffer[32];
  Encoder to{buffer};
  to.begin(Type::write, 1);
  ASSERT_EQ(to.finish(4096), 7u);
  EXPECT_EQ(buffer[0] | buffer[1] << 8, 4103);
}

TEST(NineMessage, TooLongRequestsSaySo) {
  u8 buffer[12];
  Encoder to{buffer};
  to.begin(Type::walk, 1);
  to.text("abcdef");
  EXPECT_TRUE(to.overflowed());
}

TEST(NineMessage, AnswersAreChecked) {
  u32 error = 0;
  const auto check = [&](std::vector<u8> bytes, u64 came) {
    Decoder from{bytes};
    return check_answer(from, came, Type::walk, 5, error);
  };
  auto good = answer(111, 5, {0, 0});
  EXPECT_TRUE(check(good, good.size()));
  EXPECT_EQ(error, 0u);
  EXPECT_FALSE(check(good, 6));                       // shorter than a header
  EXPECT_FALSE(check(good, good.size() - 1));         // says more than came
  EXPECT_FALSE(check(answer(111, 6, {0, 0}), 9));     // another's tag
  EXPECT_FALSE(check(answer(117, 5, {0, 0}), 9));     // an answer to something else
  EXPECT_TRUE(check(answer(7, 5, {2, 0, 0, 0}), 11));
  EXPECT_EQ(error, 2u);
  EXPECT_FALSE(check(answer(7, 5, {0, 0, 0, 0}), 11));  // an error that is none
  EXPECT_FALSE(check(answer(7, 5, {2, 0}), 9));
}

TEST(NineMessage, ReadingBeyondTheEndIsBad) {
  const u8 bytes[3] = {1, 2, 3};
  Decoder from{bytes};
  EXPECT_EQ(from.word16(), 0x0201);
  EXPECT_FALSE(from.bad());
  EXPECT_EQ(from.word32(), 0u);
  EXPECT_TRUE(from.bad());
  EXPECT_EQ(from.left(), 0u);
}

TEST(NineMessage, NamesEndWhereTheyAreAbsurd) {
  std::vector<u8> bytes(13 + 8 + 1, 0);
  bytes[13] = 7;
  bytes.insert(bytes.end(), {2, 0, 'h', 'i'});
  const auto good = bytes;
  bytes.insert(bytes.end(), good.begin(), good.end() - 2);
  bytes.insert(bytes.end(), {'a', '/'});
  Decoder from{bytes};
  DirectoryName name;
  ASSERT_TRUE(next_name(from, name));
  EXPECT_EQ(name.name, "hi");
  EXPECT_EQ(name.next, 7u);
  EXPECT_FALSE(next_name(from, name));  // a slash in it
}

TEST(NineMessage, TimesThatCannotBeAreZero) {
  std::vector<u8> bytes(200, 0xff);
  Decoder from{bytes};
  const FileAttributes a = read_attributes(from);
  EXPECT_EQ(a.modified_ns, 0);
}

}  // namespace
}  // namespace corral::test
