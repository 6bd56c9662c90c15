// Calls about the address space.
#include "probes/errno/table.h"

#include "tests/check.h"

#include <sys/mman.h>
#include <sys/syscall.h>

namespace errnotest {

namespace {

constexpr size_t page = 4096;
constexpr long wish = MAP_PRIVATE | MAP_ANONYMOUS;

Argument sizes() {
  return choice(4 * page, 0, 1, 4095, 5 * page, 8 * page, -1, -4096, -4095, LONG_MIN, 1L << 60, 1L << 32);
}
Argument protection() {
  return choice(PROT_READ, 0, 1, 2, 4, 7, 8, 16, 1 << 24, 1 << 25, 3 << 24, 0x40, -1);
}

// Mappings are put in order again before each case.
template <typename... A>
void add(Table& table, const A&... arguments) {
  table.add(arguments...).changes = true;
}

void add_mappings(Table& table) {
  add(table, SYS_mmap, "mmap anonymous", area(), sizes(), protection(),
      choice(wish, 0, 1, 2, 3, 4, 0x20, wish | 0x100, wish | 0x800, wish | 0x1000, wish | 0x2000, wish | 0x4000, wish | 0x8000,
             wish | 0x10000, wish | 0x20000, MAP_ANONYMOUS | MAP_SHARED, MAP_ANONYMOUS | 3, 1 << 30, wish | (1 << 30)),
      choice(-1, fd_file), choice(0, page, 1, -page, LONG_MIN));
  add(table, SYS_mmap, "mmap fixed", area(), sizes(), protection(), choice(wish | MAP_FIXED, wish | 0x100000), same(-1),
      same(0));
  for (const long shared : {MAP_PRIVATE, MAP_SHARED, 3}) {
    for (const long protection : {PROT_READ, PROT_READ | PROT_WRITE}) {
      add(table, SYS_mmap, "mmap of a file", same(0), choice(page, 0, -1, 1L << 60), same(protection), same(shared),
          fd(fd_file), choice(0, page, 1, -page, 1L << 62, LONG_MIN));
    }
  }
  add(table, SYS_munmap, "munmap", area(), sizes());
  add(table, SYS_mprotect, "mprotect", area(), sizes(), protection());
  add(table, SYS_pkey_mprotect, "pkey_mprotect", area(), sizes(), protection(), choice(-1, 1, 16, -2));
  add(table, SYS_mremap, "mremap", area(), sizes(), sizes(), choice(0, 1, 2, 3, 4, 5, 7, 8, -1), area());
  add(table, SYS_mremap, "mremap may move", area(), sizes(), sizes(), same(1), same(0));
  add(table, SYS_mremap, "mremap fixed", area(), sizes(), sizes(), same(3), area());
  add(table, SYS_remap_file_pages, "remap_file_pages", area(), sizes(), choice(0, 1), same(0), same(0));
}

void add_advice(Table& table) {
  for (const long advice :
       {0, 1, 2, 3, 4, 8, 9, 10, 11, 14, 15, 16, 17, 18, 19, 20, 21, 24, 5, 6, 7, 12, 13, 22, 23, 25, 26, 100, -1}) {
    add(table, SYS_madvise, "madvise", area(), sizes(), choice(advice));
  }
  add(table, SYS_msync, "msync", area(), sizes(), choice(MS_SYNC, 0, 1, 2, 3, 5, 6, 7, 8, -1));
  add(table, SYS_mincore, "mincore", area(), choice(page, 0, 1, 5 * page, 8 * page, -1, LONG_MIN), out());
  add(table, SYS_mlock, "mlock", area(), sizes());
  add(table, SYS_mlock2, "mlock2", area(), sizes(), choice(0, 1, 2, 4, -1));
  add(table, SYS_munlock, "munlock", area(), sizes());
  add(table, SYS_mlockall, "mlockall", choice(MCL_CURRENT, 0, 2, 3, 4, 5, 6, 7, 8, -1));
  add(table, SYS_munlockall, "munlockall");
  add(table, SYS_brk, "brk", choice(0, 1, -1));
}

}  // namespace

void add_memory_rows(Table& table) {
  add_mappings(table);
  add_advice(table);
}

}  // namespace errnotest
