// ELF files: a good one is read right, and each kind of damage is refused with its reason.
// sources: kernel/task/elf.cpp
#include "task/elf.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace corral::elf {
namespace {

struct Header {
  u8 ident[16] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
  u16 type = 2, machine = 62;
  u32 version = 1;
  u64 entry = 0x40'1000, program_offset = 64, section_offset = 0;
  u32 flags = 0;
  u16 header_size = 64, program_entry_size = 56, program_count = 2, section_entry_size = 0, section_count = 0, names = 0;
};
struct Program {
  u32 type = 1, flags = 5;
  u64 offset = 0, address = 0x40'0000, physical = 0, file_size = 0x2000, memory_size = 0x2000, alignment = 0x1000;
};

struct File {
  Header header;
  std::vector<Program> programs{{}, {1, 6, 0x2000, 0x40'3000, 0, 0x800, 0x5000, 0x1000}};
  u64 size = 0x2800;

  [[nodiscard]] std::vector<u8> bytes() const {
    std::vector<u8> b(size);
    Header h = header;
    if (h.program_count == 2) h.program_count = static_cast<u16>(programs.size());
    memcpy(b.data(), &h, sizeof h);
    for (size_t i = 0; i < programs.size(); ++i) {
      const size_t at = 64 + i * sizeof(Program);
      if (at + sizeof(Program) <= b.size()) memcpy(b.data() + at, &programs[i], sizeof(Program));
    }
    return b;
  }
};

Result<Image> parse_file(const File& file, const char*& why) {
  const std::vector<u8> bytes = file.bytes();
  return parse({bytes.data(), std::min<size_t>(bytes.size(), header_bytes)}, bytes.size(), why);
}

void expect_refused(const File& file, const std::string& reason) {
  const char* why = "";
  const Result<Image> image = parse_file(file, why);
  ASSERT_FALSE(image.ok()) << reason;
  EXPECT_EQ(image.error(), Errno::enoexec);
  EXPECT_NE(std::string{why}.find(reason), std::string::npos) << why;
}

TEST(Elf, ReadsAProgram) {
  const char* why = "";
  const Result<Image> image = parse_file(File{}, why);
  ASSERT_TRUE(image.ok()) << why;
  EXPECT_EQ(image.value().segment_count, 2u);
  EXPECT_EQ(image.value().entry, 0x40'1000u);
  EXPECT_EQ(image.value().program_headers, 0x40'0040u);
  EXPECT_EQ(image.value().lowest, 0x40'0000u);
  EXPECT_EQ(image.value().highest, 0x40'8000u);
  EXPECT_TRUE(image.value().segments[0].execute);
  EXPECT_FALSE(image.value().segments[0].write);
  EXPECT_TRUE(image.value().segments[1].write);
  EXPECT_FALSE(image.value().position_independent);
}

TEST(Elf, RefusesWhatIsNotForThisMachine) {
  File f;
  f.header.ident[0] = 'M';
  expect_refused(f, "not an ELF file");
  f = {};
  f.header.ident[4] = 1;
  expect_refused(f, "64-bit");
  f = {};
  f.header.machine = 183;
  expect_refused(f, "another processor");
  f = {};
  f.header.type = 1;
  expect_refused(f, "not a program");
  f = {};
  f.size = 40;
  const char* why = "";
  const std::vector<u8> small(40);
  EXPECT_FALSE(parse({small.data(), small.size()}, small.size(), why).ok());
}

TEST(Elf, RefusesDamagedHeaders) {
  File f;
  f.header.program_entry_size = 32;
  expect_refused(f, "program headers");
  f = {};
  f.header.program_offset = ~u64{0};
  expect_refused(f, "program headers");
  f = {};
  f.header.program_count = 200;
  expect_refused(f, "program headers");
  f = {};
  f.programs.clear();
  f.programs.push_back({4});
  expect_refused(f, "nothing to load");
  f = {};
  f.header.entry = 0x10;
  expect_refused(f, "entry point");
}

TEST(Elf, RefusesDamagedSegments) {
  File f;
  f.programs[0].file_size = 0x3000;
  expect_refused(f, "larger in the file");
  f = {};
  f.programs[1].offset = ~u64{0} - 0xfff;
  expect_refused(f, "beyond the end");
  f = {};
  f.programs[1].file_size = 0x900;
  expect_refused(f, "beyond the end");
  f = {};
  f.programs[1].memory_size = ~u64{0};
  expect_refused(f, "outside user space");
  f = {};
  f.programs[1].address = 0xffff'8000'0000'0000;
  expect_refused(f, "outside user space");
  f = {};
  f.programs[1].address = 0x40'3008;
  expect_refused(f, "disagree");
  f = {};
  f.programs[1].address = 0x40'1000;
  expect_refused(f, "overlap");
  f = {};
  f.programs = std::vector<Program>(20);
  for (u64 i = 0; i < 20; ++i) f.programs[i] = {1, 4, 0, 0x40'0000 + i * 0x1'0000, 0, 0x100, 0x100, 0x1000};
  expect_refused(f, "too many segments");
}

TEST(Elf, RefusesABadInterpreter) {
  File f;
  f.programs.push_back({3, 4, 0x2700, 0, 0, 4097, 4097, 1});
  expect_refused(f, "interpreter");
  f.programs.back().file_size = 1;
  expect_refused(f, "interpreter");
}

}  // namespace
}  // namespace corral::elf
