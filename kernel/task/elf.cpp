// See elf.h. Every number of the file is checked before it is used; sums are checked for overflow.
#include "task/elf.h"

#include <cstddef>

namespace corral::elf {

namespace {

struct Header {  // Elf64_Ehdr
  u8 ident[16];
  u16 type, machine;
  u32 version;
  u64 entry, program_offset, section_offset;
  u32 flags;
  u16 header_size, program_entry_size, program_count, section_entry_size, section_count, section_names;
};
static_assert(sizeof(Header) == smallest_header);

struct ProgramHeader {  // Elf64_Phdr
  u32 type, flags;
  u64 offset, virtual_address, physical_address, file_size, memory_size, alignment;
};
static_assert(sizeof(ProgramHeader) == 56);

constexpr u16 type_executable = 2, type_shared = 3, machine_x86_64 = 62;
constexpr u32 segment_load = 1, segment_interpreter = 3, segment_stack = 0x6474e551;
constexpr u32 flag_execute = 1, flag_write = 2, flag_read = 4;
constexpr u64 user_end = 0x0000'7fff'ffff'f000;
constexpr u64 longest_interpreter = 4096;

template <class T>
bool copy(std::span<const u8> from, u64 offset, T& to) {
  if (offset > from.size() || from.size() - offset < sizeof(T)) return false;
  __builtin_memcpy(&to, from.data() + offset, sizeof(T));
  return true;
}

const char* check_load(const ProgramHeader& p, const Image& image, u64 file_size) {
  if (p.file_size > p.memory_size) return "a segment larger in the file than in memory";
  if (p.offset > file_size || file_size - p.offset < p.file_size) return "a segment beyond the end of the file";
  if (p.virtual_address >= user_end || user_end - p.virtual_address < p.memory_size) return "a segment outside user space";
  if (p.virtual_address % page_size != p.offset % page_size) return "a segment whose place in the file and in memory disagree";
  if (image.segment_count == Image::max_segments) return "too many segments";
  if (image.segment_count != 0) {
    const Segment& before = image.segments[image.segment_count - 1];
    if (round_down(p.virtual_address, page_size) < round_up(before.address + before.memory_size, page_size)) {
      return "segments that overlap or are out of order";
    }
  }
  return nullptr;
}

}  // namespace

Result<Image> parse(std::span<const u8> head, u64 file_size, const char*& why) {
  Header header;
  if (!copy(head, 0, header)) {
    why = "shorter than an ELF header";
    return Errno::enoexec;
  }
  constexpr u8 magic[] = {0x7f, 'E', 'L', 'F', 2, 1, 1};  // 64 bit, little endian, version 1
  for (size_t i = 0; i < sizeof magic; ++i) {
    if (header.ident[i] != magic[i]) {
      why = i < 4 ? "not an ELF file" : "not a 64-bit little-endian ELF file";
      return Errno::enoexec;
    }
  }
  if (header.machine != machine_x86_64) {
    why = "for another processor";
    return Errno::enoexec;
  }
  if (header.type != type_executable && header.type != type_shared) {
    why = "not a program";
    return Errno::enoexec;
  }
  if (header.program_entry_size != sizeof(ProgramHeader) || header.program_count == 0 || header.program_offset > header_bytes ||
      header.program_offset + u64{header.program_count} * sizeof(ProgramHeader) > head.size()) {
    why = "program headers missing or out of reach";
    return Errno::enoexec;
  }

  Image image;
  image.entry = header.entry;
  image.position_independent = header.type == type_shared;
  image.program_header_count = header.program_count;
  image.program_header_size = header.program_entry_size;
  const u64 headers_end = header.program_offset + u64{header.program_count} * sizeof(ProgramHeader);
  for (u16 i = 0; i < header.program_count; ++i) {
    ProgramHeader p;
    if (!copy(head, header.program_offset + u64{i} * sizeof p, p)) {
      why = "program headers out of reach";
      return Errno::enoexec;
    }
    if (p.type == segment_interpreter) {
      if (p.file_size < 2 || p.file_size > longest_interpreter) {
        why = "a bad interpreter name";
        return Errno::enoexec;
      }
      image.interpreter_offset = p.offset;
      image.interpreter_size = p.file_size;
    } else if (p.type == segment_stack) {
      image.executable_stack = (p.flags & flag_execute) != 0;
    } else if (p.type == segment_load && p.memory_size != 0) {
      why = check_load(p, image, file_size);
      if (why != nullptr) return Errno::enoexec;
      Segment& s = image.segments[image.segment_count++];
      s = {p.virtual_address,
           p.offset,
           p.file_size,
           p.memory_size,
           (p.flags & flag_read) != 0,
           (p.flags & flag_write) != 0,
           (p.flags & flag_execute) != 0};
      if (p.offset <= header.program_offset && headers_end <= p.offset + p.file_size) {
        image.program_headers = p.virtual_address + (header.program_offset - p.offset);
      }
    }
  }
  if (image.segment_count == 0) {
    why = "nothing to load";
    return Errno::enoexec;
  }
  image.lowest = round_down(image.segments[0].address, page_size);
  const Segment& last = image.segments[image.segment_count - 1];
  image.highest = round_up(last.address + last.memory_size, page_size);
  if (image.entry < image.lowest || image.entry >= image.highest) {
    why = "an entry point outside the program";
    return Errno::enoexec;
  }
  return image;
}

}  // namespace corral::elf
