// Memory between cores: after munmap, mprotect or mmap over an old mapping has returned, no thread on any core may still
// use the old translation; and threads of one address space fault, map and unmap at once.

#include "tests/mappings.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

namespace {

using namespace mappings;

using Sizes = const size_t[];

// Between cores 1: readers look at a page that is replaced again and again. `published` is raised after the page has
// its new number, so a reader that saw N published must read at least N, or 0 from a page that is newer still.

constexpr int readers = 3;
volatile bool stop;
uint64_t published;
uint64_t* replaced;

void* read_replaced(void*) {
  uintptr_t reads = 0;
  while (!stop) {
    const uint64_t before = __atomic_load_n(&published, __ATOMIC_SEQ_CST);
    const uint64_t seen = __atomic_load_n(replaced, __ATOMIC_SEQ_CST);
    if (seen != 0 && seen < before) {
      CHECK_EQ(seen, before);  // fails: an old page
    }
    ++reads;
  }
  return reinterpret_cast<void*>(reads);
}

void test_replacement() {
  replaced = reinterpret_cast<uint64_t*>(map(page));
  stop = false;
  pthread_t threads[readers];
  for (auto& thread : threads) { CHECK_EQ(pthread_create(&thread, nullptr, read_replaced, nullptr), 0); }
  const int64_t end = check_now_ns() + 150000000 * check_effort;
  uint64_t number = 0;
  while (check_now_ns() < end || number < 20) {
    CHECK(map(page, read_write, MAP_FIXED, replaced) == reinterpret_cast<char*>(replaced));
    CHECK_EQ(*replaced, 0);
    __atomic_store_n(replaced, ++number, __ATOMIC_SEQ_CST);
    __atomic_store_n(&published, number, __ATOMIC_SEQ_CST);
    if (number % 16 == 0) { check_sleep_us(200); }
  }
  stop = true;
  uintptr_t reads = 0;
  for (const auto thread : threads) {
    void* result = nullptr;
    CHECK_EQ(pthread_join(thread, &result), 0);
    reads += reinterpret_cast<uintptr_t>(result);
  }
  CHECK(reads > 0);
  CHECK_EQ(munmap(replaced, page), 0);
}

// Between cores 2: writers count in a page that becomes read-only. Once mprotect has returned, the counts stand still.

volatile uint64_t* counts;

void wait_out_fault(int, siginfo_t* info, void*) {
  const auto at = reinterpret_cast<uintptr_t>(info->si_addr);
  const auto base = reinterpret_cast<uintptr_t>(counts);
  if (at < base || at >= base + page) { _exit(77); }
  const timespec moment = {0, 50000};
  nanosleep(&moment, nullptr);
}

void* count_on(void* argument) {
  const auto self = reinterpret_cast<uintptr_t>(argument) * 16;
  while (!stop) { counts[self] = counts[self] + 1; }
  return nullptr;
}

void test_write_protection() {
  counts = reinterpret_cast<volatile uint64_t*>(map(page));
  struct sigaction action{};
  action.sa_sigaction = wait_out_fault;
  action.sa_flags = SA_SIGINFO;
  CHECK_EQ(sigaction(SIGSEGV, &action, nullptr), 0);
  stop = false;
  pthread_t threads[readers];
  for (uintptr_t index = 0; index < readers; ++index) {
    CHECK_EQ(pthread_create(&threads[index], nullptr, count_on, reinterpret_cast<void*>(index)), 0);
  }
  for (int index = 0; index < readers; ++index) {  // a busy host may let them wait
    while (counts[index * 16] == 0) { check_sleep_us(100); }
  }
  const int64_t end = check_now_ns() + 200000000 * check_effort;
  for (int round = 0; check_now_ns() < end || round < 20; ++round) {
    CHECK_EQ(mprotect(const_cast<uint64_t*>(counts), page, PROT_READ), 0);
    uint64_t before[readers];
    for (int index = 0; index < readers; ++index) { before[index] = counts[index * 16]; }
    if (round % 4 == 0) {
      check_sleep_us(100);
    } else {
      check_spin(2000);
    }
    for (int index = 0; index < readers; ++index) { CHECK_EQ(counts[index * 16], before[index]); }
    CHECK_EQ(mprotect(const_cast<uint64_t*>(counts), page, read_write), 0);
    check_sleep_us(100);
  }
  stop = true;
  for (const auto thread : threads) { CHECK_EQ(pthread_join(thread, nullptr), 0); }
  catch_faults();
}

// Between cores 3: an area is unmapped and its frames are used elsewhere at once; late writers must fault, not write
// into what belongs to the new area.

char* volatile victim;

void* write_victim(void*) {
  volatile uintptr_t hits = 0;
  while (!stop) {
    if (char* at = victim; at != nullptr) {
      if (!faults([at] {
            for (size_t offset = 0; offset < 8 * page; offset += page) { *static_cast<volatile char*>(at + offset) = 0x66; }
          })) {
        hits = hits + 1;
      }
    }
  }
  return reinterpret_cast<void*>(hits);
}

void test_unmapping() {
  // The same place is never mapped twice, so that a late writer can only fault: the victims in one reserved room,
  // what comes after them in another.
  stop = false;
  pthread_t threads[readers];
  for (auto& thread : threads) { CHECK_EQ(pthread_create(&thread, nullptr, write_victim, nullptr), 0); }
  constexpr size_t room = size_t{1} << 32;
  char* place = map(room, PROT_NONE, MAP_NORESERVE);
  char* elsewhere = map(8 * page, PROT_NONE, MAP_NORESERVE);
  const int64_t end = check_now_ns() + 200000000 * check_effort;
  size_t used = 0;
  for (int round = 0; (check_now_ns() < end || round < 20) && used + 16 * page <= room; ++round, used += 16 * page) {
    char* area = place + used;
    CHECK(map(8 * page, read_write, MAP_FIXED, area) == area);
    victim = area;
    if (round % 4 == 0) {
      check_sleep_us(100);
    } else {
      check_spin(500);
    }
    CHECK_EQ(munmap(area, 8 * page), 0);
    char* next = map(8 * page, read_write, MAP_FIXED, elsewhere);
    for (size_t offset = 0; offset < 8 * page; offset += page) { CHECK_EQ(*static_cast<volatile char*>(next + offset), 0); }
    check_spin(500);
    for (size_t offset = 0; offset < 8 * page; offset += page) { CHECK_EQ(*static_cast<volatile char*>(next + offset), 0); }
    CHECK(map(8 * page, PROT_NONE, MAP_FIXED | MAP_NORESERVE, elsewhere) == elsewhere);
  }
  stop = true;
  for (const auto thread : threads) { CHECK_EQ(pthread_join(thread, nullptr), 0); }
  victim = nullptr;
  CHECK_EQ(munmap(place, room), 0);
  CHECK_EQ(munmap(elsewhere, 8 * page), 0);
}

// Many threads fault, map and unmap in one address space at once.
void test_together() {
  pthread_t threads[8];
  for (uintptr_t index = 0; index < 8; ++index) {
    CHECK_EQ(pthread_create(
                 &threads[index], nullptr,
                 [](void* argument) -> void* {
                   const auto self = static_cast<char>(reinterpret_cast<uintptr_t>(argument) + 1);
                   for (long round = 0; round < 40 * check_effort; ++round) {
                     char* area = map(16 * page);
                     memset(area, self, 16 * page);
                     CHECK_EQ(mprotect(area + 4 * page, 4 * page, PROT_READ), 0);
                     CHECK_EQ(munmap(area + 8 * page, 4 * page), 0);
                     for (const size_t at : Sizes{0, 5 * page, 15 * page}) { CHECK_EQ(area[at], self); }
                     CHECK_EQ(munmap(area, 16 * page), 0);
                   }
                   return nullptr;
                 },
                 reinterpret_cast<void*>(index)),
             0);
  }
  for (const auto thread : threads) { CHECK_EQ(pthread_join(thread, nullptr), 0); }

  // All touch the same new pages at once: each page appears once.
  static char* common;
  common = map(256 * page);
  for (auto& thread : threads) {
    CHECK_EQ(pthread_create(
                 &thread, nullptr,
                 [](void*) -> void* {
                   for (size_t at = 0; at < 256 * page; at += page) {
                     __atomic_fetch_add(reinterpret_cast<uint32_t*>(common + at), 1, __ATOMIC_SEQ_CST);
                   }
                   return nullptr;
                 },
                 nullptr),
             0);
  }
  for (const auto thread : threads) { CHECK_EQ(pthread_join(thread, nullptr), 0); }
  for (size_t at = 0; at < 256 * page; at += page) { CHECK_EQ(*reinterpret_cast<uint32_t*>(common + at), 8); }
  CHECK_EQ(munmap(common, 256 * page), 0);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("memcores", argc, argv);
  catch_faults();
  test_replacement();
  test_write_protection();
  test_unmapping();
  test_together();
  return check_done();
}
