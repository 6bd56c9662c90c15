// For programs that say what is to be counted: marks for the emulator's cache model (`./corral run --model roi=on -- PROGRAM`,
// docs/cache-model.md). A mark is two instructions that do nothing, for everybody but the model. C and C++, x86-64.
#pragma once

// As lib/cache_model.h has them: a `nopl` with the mark and a `nopl` with its operand, at an address that 16 divides.
#define CORRAL_MARK(MARK, OPERAND)                                                           \
  __asm__ volatile(".balign 16\n\t.byte 0x0f, 0x1f, 0x84, 0x00\n\t.long 0x43616300 + " #MARK \
                   "\n\t"                                                                    \
                   ".byte 0x0f, 0x1f, 0x84, 0x00\n\t.long " #OPERAND ::                      \
                       : "memory")

#define REGION_START() CORRAL_MARK(3, 0)  // with roi=on counting begins, with empty caches
#define REGION_STOP() CORRAL_MARK(4, 0)  // ... and ends
#define REGION_RESET() CORRAL_MARK(5, 0)  // what was counted so far is in no report
#define REGION_DUMP(NUMBER) CORRAL_MARK(6, NUMBER)  // a report of this moment, with this label: a literal number
