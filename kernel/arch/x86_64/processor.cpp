// What the processor can do (CPUID), and the state in which the kernel wants it. initialise_processor runs once on each
// core; the facts are the bootstrap core's and hold for all (a core that lacks one of them is not supported by any PC).
// Sources: SDM vol. 2A, CPUID; vol. 3, 2.5 (control registers), 5.8.8 (SYSCALL); AMD APM vol. 3, E.4.
#include "arch/processor.h"

#include "arch/page_table.h"
#include "arch/port_io.h"
#include "arch/traps.h"
#include "descriptors.h"
#include "memory/heap.h"
#include "processor_setup.h"
#include "trace/panic.h"

extern "C" {
constinit corral::u8 corral_has_smap = 0;  // read by the entry code
void corral_syscall_entry();
// The bootstrap core's area until it is given its own: GS base points here from boot/entry.S on.
constinit corral::arch::CoreArea corral_boot_area;
}

namespace corral::arch {

constinit Features detail::found_features = {};

namespace {

constinit Descriptors boot_descriptors;
alignas(16) constinit u8 boot_emergency_stacks[emergency_stacks][emergency_stack_pages * page_size] = {};

constexpr u32 msr_star = 0xc000'0081;
constexpr u32 msr_lstar = 0xc000'0082;
constexpr u32 msr_cstar = 0xc000'0083;
constexpr u32 msr_flag_mask = 0xc000'0084;
constexpr u32 msr_tsc_aux = 0xc000'0103;
constexpr u32 msr_kernel_gs_base = 0xc000'0102;
constexpr u32 msr_sysenter_cs = 0x174;
constexpr u32 msr_pat = 0x277;
// As after reset (SDM vol. 3, table 12-12), but entry 1 is write combining (01) instead of write through, which nobody uses.
constexpr u64 memory_types = 0x0007'0406'0007'0106;
constexpr u64 efer_syscall = 1;

constexpr u64 cr4_pae = 1 << 5;
constexpr u64 cr4_pge = 1 << 7;
constexpr u64 cr4_osfxsr = 1 << 9;
constexpr u64 cr4_osxmmexcpt = 1 << 10;
constexpr u64 cr4_umip = 1 << 11;
constexpr u64 cr4_pcide = 1 << 17;
constexpr u64 cr4_osxsave = 1 << 18;
constexpr u64 cr4_smep = 1 << 20;
constexpr u64 cr4_smap = 1 << 21;
constexpr u64 cr0_value =
    CORRAL_CR0_PE | CORRAL_CR0_MP | CORRAL_CR0_ET | CORRAL_CR0_NE | CORRAL_CR0_WP | CORRAL_CR0_AM | CORRAL_CR0_PG;

constexpr bool bit(u32 word, u32 number) {
  return (word >> number & 1) != 0;
}

void put_word(char* to, u32 word) {
  for (u32 i = 0; i < 4; ++i) to[i] = static_cast<char>(word >> (8 * i));
}

// Components that the kernel switches on: x87 and SSE always, AVX, and AVX-512 only as a whole (SDM vol. 1, 13.3).
void find_vector_state(Features& f) {
  constexpr u64 legacy = 3;
  constexpr u64 avx = 4;
  constexpr u64 avx512 = 0xe0;
  f.xsave_size = 512;
  if (!f.xsave) return;
  CpuidResult main = cpuid(0xd, 0);
  u64 supported = u64{main.d} << 32 | main.a;
  u64 wanted = legacy;
  if ((supported & avx) != 0) wanted |= avx;
  if ((supported & (avx512 | avx)) == (avx512 | avx)) wanted |= avx512;
  u32 size = 512 + 64;
  for (u32 component = 2; component < 63; ++component) {
    if ((wanted >> component & 1) == 0) continue;
    CpuidResult part = cpuid(0xd, component);
    if (part.b + part.a > size) size = part.b + part.a;
  }
  f.xsave_components = wanted;
  f.xsave_size = size;
  f.xsaveopt = bit(cpuid(0xd, 1).a, 0);
}

void find_model(Features& f, u32 signature) {
  f.stepping = signature & 0xf;
  f.family = signature >> 8 & 0xf;
  f.model = signature >> 4 & 0xf;
  if (f.family == 6 || f.family == 15) f.model |= (signature >> 16 & 0xf) << 4;
  if (f.family == 15) f.family += signature >> 20 & 0xff;
}

void find_names(Features& f, const CpuidResult& vendor, u32 extended) {
  put_word(f.vendor, vendor.b);
  put_word(f.vendor + 4, vendor.d);
  put_word(f.vendor + 8, vendor.c);
  if (extended >= 0x8000'0004) {
    for (u32 i = 0; i < 3; ++i) {
      const CpuidResult part = cpuid(0x8000'0002 + i);
      char* to = f.brand + size_t{16} * i;
      put_word(to, part.a);
      put_word(to + 4, part.b);
      put_word(to + 8, part.c);
      put_word(to + 12, part.d);
    }
  }
  if (f.hypervisor) {
    CpuidResult name = cpuid(0x4000'0000);
    put_word(f.hypervisor_name, name.b);
    put_word(f.hypervisor_name + 4, name.c);
    put_word(f.hypervisor_name + 8, name.d);
  }
}

}  // namespace

void detect_features() {
  Features f = {};
  CpuidResult vendor = cpuid(0);
  u32 extended = cpuid(0x8000'0000).a;
  CpuidResult one = cpuid(1);
  f.first_leaf_edx = one.d;
  CpuidResult seven = vendor.a >= 7 ? cpuid(7) : CpuidResult{};
  CpuidResult extended_one = cpuid(0x8000'0001);
  f.pat = bit(one.d, 16);
  f.xsave = bit(one.c, 26) && vendor.a >= 0xd;
  f.pcid = bit(one.c, 17);
  f.x2apic = bit(one.c, 21);
  f.tsc_deadline = bit(one.c, 24);
  f.rdrand = bit(one.c, 30);
  f.hypervisor = bit(one.c, 31);
  f.smep = bit(seven.b, 7);
  f.invpcid = bit(seven.b, 10);
  f.smap = bit(seven.b, 20);
  f.umip = bit(seven.c, 2);
  f.nx = bit(extended_one.d, 20);
  f.rdtscp = bit(extended_one.d, 27);
  f.huge_1g = bit(extended_one.d, 26);
  f.invariant_tsc = extended >= 0x8000'0007 && bit(cpuid(0x8000'0007).d, 8);
  find_model(f, one.a);
  find_names(f, vendor, extended);
  find_vector_state(f);
  detail::found_features = f;
  corral_has_smap = f.smap ? 1 : 0;
}

// The same on every core, and before any page uses entry 1.
void set_memory_types() {
  if (detail::found_features.pat) write_msr(msr_pat, memory_types);
}

void set_control_registers() {
  set_memory_types();
  write_msr(CORRAL_MSR_EFER, read_msr(CORRAL_MSR_EFER) | efer_syscall | (detail::found_features.nx ? u64{CORRAL_EFER_NXE} : 0));
  asm volatile("movq %0, %%cr0" ::"r"(cr0_value) : "memory");
  u64 cr4 = cr4_pae | cr4_pge | cr4_osfxsr | cr4_osxmmexcpt;
  if (detail::found_features.umip) cr4 |= cr4_umip;
  if (detail::found_features.smep) cr4 |= cr4_smep;
  if (detail::found_features.smap) cr4 |= cr4_smap;
  if (detail::found_features.xsave) cr4 |= cr4_osxsave;
  if (detail::found_features.pcid) cr4 |= cr4_pcide;  // CR3 names id 0 here, as the processor demands
  asm volatile("movq %0, %%cr4" ::"r"(cr4) : "memory");
  if (detail::found_features.xsave) {
    asm volatile("xsetbv" ::"c"(0), "a"(static_cast<u32>(detail::found_features.xsave_components)),
                 "d"(static_cast<u32>(detail::found_features.xsave_components >> 32)));
  }
  if (detail::found_features.smap) asm volatile("clac" ::: "memory");

  write_msr(msr_star, u64{CORRAL_USER_BASE} << 48 | u64{CORRAL_KERNEL_CODE} << 32);
  write_msr(msr_lstar, reinterpret_cast<u64>(&corral_syscall_entry));
  write_msr(msr_cstar, 0);
  write_msr(msr_flag_mask, CORRAL_FLAGS_CLEARED_ON_ENTRY);
  write_msr(msr_sysenter_cs, 0);  // SYSENTER faults
  write_msr(msr_kernel_gs_base, 0);
}

void use_area(CoreArea& area) {
  static_cast<Descriptors*>(area.descriptors)->load();
  write_msr(CORRAL_MSR_GS_BASE, reinterpret_cast<u64>(&area));
}

void start_bootstrap_processor() {
  VirtualAddress stacks[emergency_stacks];
  for (u32 i = 0; i < emergency_stacks; ++i) {
    stacks[i] = {reinterpret_cast<u64>(&boot_emergency_stacks[i]) + sizeof(boot_emergency_stacks[i])};
  }
  boot_descriptors.build(stacks);
  corral_boot_area.descriptors = &boot_descriptors;
  use_area(corral_boot_area);
  install_traps();
  detect_features();
  set_memory_types();
}

Result<void> prepare_core_area(Core& core, CoreArea& area) {
  VirtualAddress stacks[emergency_stacks];
  for (VirtualAddress& stack : stacks) stack = TRY(map_kernel_stack(emergency_stack_pages));
  Descriptors* descriptors = TRY(memory::make<Descriptors>());
  descriptors->build(stacks);
  area.descriptors = descriptors;
  area.core = &core;
  return {};
}

void initialise_processor(Core& core, CoreArea& area, VirtualAddress kernel_stack) {
  if (area.descriptors == nullptr) {
    KERNEL_ASSERT(area.id == 0);  // others are prepared by the bootstrap core
    area.descriptors = &boot_descriptors;
  }
  area.core = &core;
  area.kernel_stack = kernel_stack.value;
  use_area(area);
  install_traps();
  set_control_registers();
  if (features().rdtscp) write_msr(msr_tsc_aux, area.id);  // programs ask RDTSCP on which core they are
}

bool hardware_random(u64& value) {
  if (!detail::found_features.rdrand) return false;
  // The manual (SDM vol. 1, 7.3.17.1) advises ten attempts: the generator may be drained by other cores.
  for (u32 attempt = 0; attempt < 10; ++attempt) {
    u64 word;
    u8 ok;
    asm volatile("rdrand %0; setc %1" : "=r"(word), "=qm"(ok)::"cc");
    if (ok != 0) {
      value = word;
      return true;
    }
    pause();
  }
  return false;
}

}  // namespace corral::arch
