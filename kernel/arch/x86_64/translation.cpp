// The calling core's translation state: CR3 and the TLB. Interrupts off, own core.
// Source: SDM vol. 3, 4.10 (TLB, process-context identifiers, INVLPG, MOV to CR3 with bit 63).
#include "arch/page_table.h"
#include "arch/processor.h"
#include "paging.h"

namespace corral::arch {

namespace {

constexpr u64 keep_bit = u64{1} << 63;  // MOV to CR3: the entries of the id named stay

u64 read_cr3() {
  u64 value;
  asm volatile("movq %%cr3, %0" : "=r"(value)::"memory");
  return value;
}
void write_cr3(u64 value) {
  asm volatile("movq %0, %%cr3" ::"r"(value) : "memory");
}

}  // namespace

u16 asid_count() {
  return features().pcid ? 4096 : 1;
}

void load_page_table(const PageTable& table, u16 asid, bool keep) {
  u64 value = table.root().value;
  if (features().pcid) {
    value |= asid;
    if (keep) value |= keep_bit;
  } else if (keep && read_cr3() == value) {
    return;  // any write would flush
  }
  write_cr3(value);
}

// Id 0 holds nothing but the kernel's own entries, which are right at all times.
void load_kernel_page_table() {
  load_page_table(PageTable{kernel_root()}, 0, true);
}

void flush_page(VirtualAddress page) {
  asm volatile("invlpg (%0)" ::"r"(page.value) : "memory");
}

void flush_user_all() {
  write_cr3(read_cr3());
}  // reads as bit 63 clear: flushes all of this id but global entries

void flush_asid(u16 asid) {
  if (!features().pcid) return;  // nothing of an address space outlives its being loaded
  if (features().invpcid) {
    const u64 descriptor[2] = {asid, 0};
    asm volatile("invpcid %0, %1" ::"m"(descriptor), "r"(u64{1}) : "memory");  // type 1: one id
    return;
  }
  u64 loaded = read_cr3();
  write_cr3(kernel_root().value | asid);  // without bit 63: drops what this id had
  write_cr3(loaded | keep_bit);
}

}  // namespace corral::arch
