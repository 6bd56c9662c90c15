// See core_layout.h.
#include "abi/linux/core_layout.h"

namespace corral::abi::core {

namespace {

struct NoteHeader {  // Elf64_Nhdr, and the name that always has this room
  u32 name_size, size;
  Note type;
  char name[8];
};
static_assert(sizeof(NoteHeader) == 20);

constexpr u64 note_alignment = 4;

}  // namespace

u64 note_size(u64 size) {
  return sizeof(NoteHeader) + round_up(size, note_alignment);
}

void begin_note(fs::TextBuffer& to, Note type, u64 size) {
  const bool of_linux = type == Note::extended_registers;
  const NoteHeader plain{5, static_cast<u32>(size), type, "CORE"};
  const NoteHeader linux_own{6, static_cast<u32>(size), type, "LINUX"};
  add_bytes(to, of_linux ? linux_own : plain);
}

void end_note(fs::TextBuffer& to, u64 size) {
  constexpr char zeros[note_alignment] = {};
  to.append({zeros, round_up(size, note_alignment) - size});
}

void add_note(fs::TextBuffer& to, Note type, const void* bytes, u64 size) {
  begin_note(to, type, size);
  to.append({static_cast<const char*>(bytes), size});
  end_note(to, size);
}

}  // namespace corral::abi::core
