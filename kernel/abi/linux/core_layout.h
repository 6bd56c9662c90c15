// How a core file looks: ELF headers and notes in Linux's layout (x86-64), put together from plain values.
// Source: System V gABI, chapters 4 and 5; Linux include/uapi/linux/elfcore.h, elf.h (layouts only); core(5).
#pragma once

#include "abi/linux/time_values.h"
#include "arch/user_registers.h"
#include "fs/text_buffer.h"
#include "lib/types.h"

namespace corral::abi::core {

struct FileHeader {  // Elf64_Ehdr
  u8 identification[16] = {0x7f, 'E', 'L', 'F', 2, 1, 1};  // 64 bits, little endian, version 1
  u16 type = 4;      // ET_CORE
  u16 machine = 62;  // EM_X86_64
  u32 version = 1;
  u64 entry = 0, program_headers = 64, section_headers = 0;
  u32 flags = 0;
  u16 size = 64, program_header_size = 56, program_header_count = 0;
  u16 section_header_size = 0, section_header_count = 0, section_names = 0;
};
static_assert(sizeof(FileHeader) == 64);

struct ProgramHeader {  // Elf64_Phdr
  u32 type, flags;
  u64 offset, address, physical_address, file_size, memory_size, alignment;
};
static_assert(sizeof(ProgramHeader) == 56);
inline constexpr u32 segment_load = 1, segment_note = 4;
inline constexpr u32 segment_executes = 1, segment_writes = 2, segment_reads = 4;

enum class Note : u32 {
  thread = 1,                   // NT_PRSTATUS
  floating_point = 2,           // NT_PRFPREG
  process = 3,                  // NT_PRPSINFO
  auxiliary = 6,                // NT_AUXV
  extended_registers = 0x202,   // NT_X86_XSTATE
  signal = 0x5349'4749,         // NT_SIGINFO
  files = 0x4649'4c45,          // NT_FILE
};
// What a note of `size` bytes takes with its header.
[[nodiscard]] u64 note_size(u64 size);
// The header of a note; its `size` bytes and end_note() have to follow.
void begin_note(fs::TextBuffer& to, Note type, u64 size);
void end_note(fs::TextBuffer& to, u64 size);
void add_note(fs::TextBuffer& to, Note type, const void* bytes, u64 size);
template <class T>
void add_bytes(fs::TextBuffer& to, const T& value) {
  to.append({reinterpret_cast<const char*>(&value), sizeof value});
}

struct ThreadStatus {  // struct elf_prstatus
  i32 signal, code, error;
  i16 current_signal;
  u16 padding_1;
  u64 pending, blocked;
  i32 id, parent, group, session;
  TimeValue user, system, children_user, children_system;
  arch::UserRegisters registers;
  i32 has_floating_point;
  u32 padding_2;
};
static_assert(sizeof(ThreadStatus) == 336);

struct ProcessInformation {  // struct elf_prpsinfo
  u8 state;
  char letter;
  u8 zombie;
  u8 nice;  // two's complement
  u32 padding;
  u64 flags;
  u32 user, group;
  i32 id, parent, process_group, session;
  char name[16];
  char arguments[80];
};
static_assert(sizeof(ProcessInformation) == 136);

}  // namespace corral::abi::core
