// ELF files, read and checked. Pure: works on bytes, knows no memory management, so that it is tested and fuzzed on the host.
// Source: System V gABI, chapters 4 and 5; AMD64 psABI.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "lib/result.h"
#include "lib/types.h"

namespace corral::elf {

struct Segment {
  u64 address = 0;      // as in the file; relative to the load base for position-independent programs
  u64 file_offset = 0;
  u64 file_size = 0;    // <= memory_size
  u64 memory_size = 0;
  bool read = false, write = false, execute = false;
};

struct Image {
  static constexpr u32 max_segments = 16;
  std::array<Segment, max_segments> segments;  // PT_LOAD, ascending, not overlapping in pages of different rights' conflict
  u32 segment_count = 0;
  u64 entry = 0;
  bool position_independent = false;  // ET_DYN: the loader chooses the base
  u64 program_headers = 0;            // address of the program headers in memory, 0: not loaded
  u16 program_header_count = 0;
  u16 program_header_size = 0;
  u64 interpreter_offset = 0;         // file range of the interpreter's name (PT_INTERP); may lie beyond the end
  u64 interpreter_size = 0;           // with its final zero, at most 4096; 0: none
  bool executable_stack = false;
  u64 lowest = 0, highest = 0;        // page-rounded address range of all segments
};

inline constexpr u64 smallest_header = 64;   // a file that is shorter is no ELF file of any kind
inline constexpr u64 header_bytes = 4096;  // what parse() wants to see of the file: the header and all program headers

// `head`: the first bytes of the file (header_bytes, or the whole file when shorter); `file_size` in bytes.
// enoexec, with `why` naming the fault in a few words.
Result<Image> parse(std::span<const u8> head, u64 file_size, const char*& why);

}  // namespace corral::elf
