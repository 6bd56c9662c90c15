// Mappings and their policies. See operation.h.
#include "probes/failures/operation.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>

namespace failures {
namespace {

constexpr size_t page = 4096;
constexpr size_t pages = 40;
constexpr size_t pages_of_program = 20;  // as many as it has at least
constexpr int read_write = PROT_READ | PROT_WRITE;

char* map(int flags, int file = -1) {
  void* made = mmap(nullptr, pages * page, read_write, flags, file, 0);
  return made == MAP_FAILED ? nullptr : static_cast<char*>(made);
}

void touch(char* memory) {
  for (size_t i = 0; i < pages; i += 7) memory[i * page] = 'x';
}

long change_mappings() {
  char* memory = map(MAP_PRIVATE | MAP_ANONYMOUS);
  if (memory == nullptr) return -1;
  touch(memory);
  TRY_CALL(mprotect(memory + 3 * page, page, PROT_READ));
  TRY_CALL(munmap(memory + 9 * page, page));
  TRY_CALL(madvise(memory + 20 * page, 10 * page, MADV_DONTNEED));
  void* moved = mremap(memory + 20 * page, 5 * page, 90 * page, MREMAP_MAYMOVE);
  return moved == MAP_FAILED ? -1 : 0;
}

long share() {
  char* memory = map(MAP_SHARED | MAP_ANONYMOUS);
  if (memory == nullptr) return -1;
  touch(memory);
  return munmap(memory, pages * page);
}

long large() {
  void* memory = mmap(nullptr, 6UL << 20, read_write, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return -1;
  TRY_CALL(madvise(memory, 6UL << 20, MADV_HUGEPAGE));
  for (size_t at = 0; at < 6UL << 20; at += 64 * page) static_cast<char*>(memory)[at] = 'x';
  return 0;
}

long populate() {
  char* memory = map(MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE);
  return memory == nullptr ? -1 : mlock(memory, pages * page);
}

long in_memory_file() {
  const Descriptor file{static_cast<int>(syscall(SYS_memfd_create, "failures", 0))};
  TRY_CALL(file);
  TRY_CALL(ftruncate(file, pages * page));
  char* memory = map(MAP_SHARED, file);
  if (memory == nullptr) return -1;
  touch(memory);
  return write(file, memory, 5 * page);
}

long map_program() {
  const Descriptor file{open("/proc/self/exe", O_RDONLY)};
  TRY_CALL(file);
  char* memory = map(MAP_PRIVATE, file);
  if (memory == nullptr) return -1;
  for (size_t i = 0; i < pages_of_program; i += 3) memory[i * page] = 'x';
  return 0;
}

long policies() {
  constexpr int bind = 2, interleave = 3;
  const unsigned long nodes = 1;
  TRY_CALL(syscall(SYS_set_mempolicy, interleave, &nodes, 64));
  char* memory = map(MAP_PRIVATE | MAP_ANONYMOUS);
  if (memory == nullptr) return -1;
  TRY_CALL(syscall(SYS_mbind, memory + 4 * page, 4 * page, bind, &nodes, 64, 0));
  touch(memory);
  return syscall(SYS_mbind, memory, pages * page, 0, nullptr, 0, 0);
}

long segment() {
  const int id = shmget(IPC_PRIVATE, pages * page, IPC_CREAT | 0600);
  TRY_CALL(id);
  void* memory = shmat(id, nullptr, 0);
  const int error = errno;
  CHECK_EQ(shmctl(id, IPC_RMID, nullptr), 0);
  errno = error;
  if (memory == reinterpret_cast<void*>(-1)) return -1;
  touch(static_cast<char*>(memory));
  return shmdt(memory);
}

long grow() {
  char* top = map(MAP_PRIVATE | MAP_ANONYMOUS);
  if (top == nullptr) return -1;
  TRY_CALL(munmap(top, (pages - 1) * page));
  top += (pages - 1) * page;
  TRY_CALL(munmap(top, page));
  if (mmap(top, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN | MAP_FIXED, -1, 0) == MAP_FAILED)
    return -1;
  for (size_t i = 0; i < pages; i += 7) *(top - i * page) = 'x';
  const Descriptor file{open("/proc/self/pagemap", O_RDONLY)};
  TRY_CALL(file);
  unsigned long words[pages];
  return pread(file, words, sizeof words, static_cast<off_t>(reinterpret_cast<uintptr_t>(top) / page * sizeof words[0]));
}

constexpr Operation operations[] = {
    {"mprotect, mremap …", change_mappings},
    {"shared memory", share},
    {"large pages", large},
    {"mlock", populate},
    {"a growing area", grow},
    {"memfd", in_memory_file},
    {"mapping a program", map_program},
    {"mbind", policies},
    {"shmget", segment},
};

}  // namespace

Operations memory_operations() {
  return operations;
}

}  // namespace failures
