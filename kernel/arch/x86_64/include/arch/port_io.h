// Port input and output. x86 alone has this: only platform/pc, boot and arch/x86_64 may use it.
// Any context, any core; what a port does is its device's manual's business.
#pragma once

#include "lib/types.h"

namespace corral::arch {

inline u8 port_read8(u16 port) {
  u8 value;
  asm volatile("inb %1, %0" : "=a"(value) : "Nd"(port) : "memory");
  return value;
}
inline u16 port_read16(u16 port) {
  u16 value;
  asm volatile("inw %1, %0" : "=a"(value) : "Nd"(port) : "memory");
  return value;
}
inline u32 port_read32(u16 port) {
  u32 value;
  asm volatile("inl %1, %0" : "=a"(value) : "Nd"(port) : "memory");
  return value;
}
inline void port_write8(u16 port, u8 value) {
  asm volatile("outb %0, %1" ::"a"(value), "Nd"(port) : "memory");
}
inline void port_write16(u16 port, u16 value) {
  asm volatile("outw %0, %1" ::"a"(value), "Nd"(port) : "memory");
}
inline void port_write32(u16 port, u32 value) {
  asm volatile("outl %0, %1" ::"a"(value), "Nd"(port) : "memory");
}

// Model-specific registers. The register must exist (CPUID), or the processor faults.
inline u64 read_msr(u32 number) {
  u32 low;
  u32 high;
  asm volatile("rdmsr" : "=a"(low), "=d"(high) : "c"(number) : "memory");
  return (u64{high} << 32) | low;
}
inline void write_msr(u32 number, u64 value) {
  asm volatile("wrmsr" ::"c"(number), "a"(static_cast<u32>(value)), "d"(static_cast<u32>(value >> 32)) : "memory");
}

struct CpuidResult {
  u32 a, b, c, d;
};
inline CpuidResult cpuid(u32 leaf, u32 subleaf = 0) {
  CpuidResult r;
  asm volatile("cpuid" : "=a"(r.a), "=b"(r.b), "=c"(r.c), "=d"(r.d) : "a"(leaf), "c"(subleaf));
  return r;
}

}  // namespace corral::arch
