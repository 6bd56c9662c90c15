// The reader of cpio archives: what it gives of good ones, and where it says that bad ones are bad.
// sources: kernel/fs/newc.cpp
#include "fs/newc.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace corral::fs {
namespace {

struct Fields {
  u32 inode = 1, mode = 0100644, user = 0, group = 0, links = 1, modified = 7, checksum = 0;
};

std::string hexadecimal(u64 value) {
  char text[9];
  std::snprintf(text, sizeof text, "%08x", static_cast<unsigned>(value));
  return text;
}

void pad(std::string& to) {
  while (to.size() % 4 != 0) to.push_back('\0');
}

// One entry; the archive so far ends at a multiple of four.
std::string entry(const std::string& name, const std::string& data, const Fields& f = {}, const char* magic = "070701") {
  std::string text = magic;
  for (u64 value : {u64{f.inode}, u64{f.mode}, u64{f.user}, u64{f.group}, u64{f.links}, u64{f.modified}, u64{data.size()},
                    u64{8}, u64{1}, u64{5}, u64{9}, u64{name.size() + 1}, u64{f.checksum}}) {
    text += hexadecimal(value);
  }
  text += name;
  text.push_back('\0');
  pad(text);
  text += data;
  pad(text);
  return text;
}

std::string trailer() {
  return entry("TRAILER!!!", "");
}

struct Outcome {
  std::vector<std::string> names, contents;
  NewcProblem problem = NewcProblem::none;
  u64 offset = 0;
};

// Reads a copy whose end is the end of its memory, so that a read beyond it is found.
Outcome read(const std::string& archive) {
  const std::vector<u8> copy(archive.begin(), archive.end());
  NewcReader reader{{copy.data(), copy.size()}};
  NewcEntry e;
  Outcome outcome;
  while (reader.next(e)) {
    outcome.names.emplace_back(e.name);
    outcome.contents.emplace_back(reinterpret_cast<const char*>(e.data.data()), e.data.size());
  }
  outcome.problem = reader.problem();
  outcome.offset = reader.offset();
  return outcome;
}

TEST(Newc, ReadsNamesAndContents) {
  const Outcome o = read(entry(".", "", {.mode = 040755}) + entry("bin", "", {.mode = 040755}) + entry("bin/sh", "#!x") +
                         entry("./etc/passwd", "root") + entry("/init", "") + trailer());
  EXPECT_EQ(o.problem, NewcProblem::none);
  EXPECT_EQ(o.names, (std::vector<std::string>{".", "bin", "bin/sh", "etc/passwd", "init"}));
  EXPECT_EQ(o.contents[2], "#!x");
  EXPECT_EQ(o.contents[3], "root");
}

TEST(Newc, GivesTheFields) {
  const std::string archive =
      entry("n", "d", {.inode = 77, .mode = 0120777, .user = 3, .group = 4, .links = 2, .modified = 99});
  NewcReader reader{{reinterpret_cast<const u8*>(archive.data()), archive.size()}};
  NewcEntry e;
  ASSERT_TRUE(reader.next(e));
  EXPECT_EQ(e.inode, 77u);
  EXPECT_EQ(e.mode, 0120777u);
  EXPECT_EQ(e.user, 3u);
  EXPECT_EQ(e.group, 4u);
  EXPECT_EQ(e.links, 2u);
  EXPECT_EQ(e.modified, 99u);
  EXPECT_EQ(e.device_major, 8u);
  EXPECT_EQ(e.device_minor, 1u);
  EXPECT_EQ(e.special_major, 5u);
  EXPECT_EQ(e.special_minor, 9u);
  EXPECT_FALSE(e.checksum_known);
}

TEST(Newc, ReadsSeveralArchivesWithZerosBetween) {
  const Outcome o =
      read(entry("a", "1") + trailer() + std::string(512, '\0') + entry("b", "2") + trailer() + std::string(3, '\0'));
  EXPECT_EQ(o.problem, NewcProblem::none);
  EXPECT_EQ(o.names, (std::vector<std::string>{"a", "b"}));
}

TEST(Newc, ReadsUpperCaseNumbers) {
  std::string archive = entry("a", "x", {.mode = 0xabcd});
  for (size_t i = 6; i < 110; ++i) archive[i] = static_cast<char>(std::toupper(archive[i]));
  EXPECT_EQ(read(archive).names.size(), 1u);
}

TEST(Newc, ChecksChecksums) {
  EXPECT_EQ(read(entry("a", "AB", {.checksum = 'A' + 'B'}, "070702")).problem, NewcProblem::none);
  const Outcome o = read(entry("a", "AB", {.checksum = 1}, "070702"));
  EXPECT_EQ(o.problem, NewcProblem::bad_checksum);
  EXPECT_EQ(o.offset, 112u);
}

TEST(Newc, SaysWhatIsNoArchive) {
  EXPECT_EQ(read("").problem, NewcProblem::not_an_archive);
  EXPECT_EQ(read("hello, world, this is not an archive at all").problem, NewcProblem::not_an_archive);
  EXPECT_EQ(read(std::string("\x1f\x8b\x08\0\0\0\0\0", 8)).problem, NewcProblem::compressed);
  EXPECT_EQ(read(std::string("\x28\xb5\x2f\xfd....", 8)).problem, NewcProblem::compressed);
  const Outcome o = read(entry("a", "1") + "garbage behind it");
  EXPECT_EQ(o.problem, NewcProblem::not_an_archive);
  EXPECT_EQ(o.offset, entry("a", "1").size());
}

TEST(Newc, SaysWhereAnArchiveIsCut) {
  const std::string whole = entry("directory/file", "0123456789") + trailer();
  for (size_t size = 1; size < whole.size(); ++size) {
    const Outcome o = read(whole.substr(0, size));
    if (size == entry("directory/file", "0123456789").size()) {  // between two entries: nothing is missing that could be known
      EXPECT_EQ(o.problem, NewcProblem::none);
      continue;
    }
    EXPECT_LE(o.offset, size) << size;
    EXPECT_LE(o.names.size(), 1u);
  }
  EXPECT_EQ(read(whole.substr(0, 130)).problem, NewcProblem::truncated);
}

TEST(Newc, RefusesBadNumbers) {
  std::string archive = entry("a", "1");
  archive[6 + 8 * 6] = 'g';
  const Outcome o = read(archive);
  EXPECT_EQ(o.problem, NewcProblem::bad_number);
  EXPECT_EQ(o.offset, 6u + 8 * 6);
}

TEST(Newc, RefusesHugeSizes) {
  std::string archive = entry("a", "1");
  archive.replace(6 + 8 * 6, 8, "ffffffff");
  EXPECT_EQ(read(archive).problem, NewcProblem::truncated);
  archive = entry("a", "1");
  archive.replace(6 + 8 * 11, 8, "ffffffff");
  EXPECT_EQ(read(archive).problem, NewcProblem::bad_name);
}

TEST(Newc, RefusesBadNames) {
  EXPECT_EQ(read(entry("", "1")).problem, NewcProblem::bad_name);
  EXPECT_EQ(read(entry("../etc/passwd", "1")).problem, NewcProblem::bad_name);
  EXPECT_EQ(read(entry("a/../../b", "1")).problem, NewcProblem::bad_name);
  EXPECT_EQ(read(entry("..", "1")).problem, NewcProblem::bad_name);
  EXPECT_EQ(read(entry(std::string("a\0b", 3), "1")).problem, NewcProblem::bad_name);
  EXPECT_EQ(read(entry("..a/b..", "1")).problem, NewcProblem::none);
  std::string archive = entry("ab", "1");
  archive[112] = 'x';  // where the terminating zero is
  EXPECT_EQ(read(archive).problem, NewcProblem::bad_name);
}

TEST(Newc, DescribesEveryProblem) {
  for (int i = 0; i <= static_cast<int>(NewcProblem::bad_checksum); ++i) {
    EXPECT_STRNE(describe(static_cast<NewcProblem>(i)), "unknown problem");
  }
}

}  // namespace
}  // namespace corral::fs
