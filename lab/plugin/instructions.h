// What the model wants to know of the guest's instructions (x86-64).
#pragma once

#include <cstring>
#include <span>

#include "lib/cache_model.h"

namespace corral::cache_model {

// The first half of a mark: `nopl mark_word + MARK(%rax,%rax,1)`. False: it is none.
[[nodiscard]] inline bool is_mark(std::span<const u8> code, Mark& mark) {
  constexpr u8 nop[] = {0x0f, 0x1f, 0x84, 0x00};
  u32 word = 0;
  if (code.size() != mark_bytes / 2 || std::memcmp(code.data(), nop, sizeof nop) != 0) return false;
  std::memcpy(&word, code.data() + sizeof nop, sizeof word);
  if ((word & ~u32{0xff}) != mark_word) return false;
  mark = static_cast<Mark>(word & 0xff);
  return mark >= Mark::seat && mark <= Mark::dump;
}

// Its operand, in the other half; as addresses of the kernel are: 32 bits with a sign.
[[nodiscard]] inline i64 operand_of(const u8* mark) {
  i32 word = 0;
  std::memcpy(&word, mark + mark_bytes - sizeof word, sizeof word);
  return word;
}

// Whether translations of addresses may be others afterwards: MOV to a control register, INVLPG, INVPCID.
[[nodiscard]] inline bool changes_translations(std::span<const u8> code) {
  const auto is_prefix = [](u8 byte) { return byte == 0x66 || byte == 0xf2 || byte == 0xf3 || (byte & 0xf0) == 0x40; };
  while (!code.empty() && is_prefix(code[0])) code = code.subspan(1);
  if (code.size() < 3 || code[0] != 0x0f) return false;
  if (code[1] == 0x22) return true;
  const bool in_memory = code[2] < 0xc0;
  if (code[1] == 0x01) return (code[2] >> 3 & 7) == 7 && in_memory;
  return code[1] == 0x38 && code[2] == 0x82;
}

}  // namespace corral::cache_model
