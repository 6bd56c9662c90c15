// /proc/[pid]/pagemap: what it says of pages is what mincore and smaps say; its form; who sees where pages are in memory. Gives the same
// result on Linux, where one more bit may be set (pages that were written since somebody asked).

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "tests/children.h"
#include "tests/mappings.h"

namespace {

using namespace mappings;

constexpr uint64_t present = uint64_t{1} << 63, swapped = uint64_t{1} << 62, of_file = uint64_t{1} << 61;
constexpr uint64_t mapped_once = uint64_t{1} << 56, soft_dirty = uint64_t{1} << 55, frame = soft_dirty - 1;
constexpr uint64_t all_pages = 0x7fff'ffff'f000 / page;
constexpr size_t pages = 16;

int own_map() {
  const int file = open("/proc/self/pagemap", O_RDONLY);
  CHECK(file >= 0);
  return file;
}

off_t place_of(const volatile void* address) {
  return static_cast<off_t>(reinterpret_cast<uintptr_t>(address) / page * 8);
}

uint64_t word_of(int file, const volatile void* address) {
  uint64_t word = 1;
  CHECK_EQ(pread(file, &word, sizeof word, place_of(address)), 8);
  CHECK_EQ(word & swapped, 0);
  return word & ~soft_dirty;
}

// What is neither a page's place nor whether it may be shared with others.
uint64_t kind_of(int file, const volatile void* address) {
  return word_of(file, address) & (present | of_file);
}

// An area with nothing beside it that it could be joined with.
char* lone_area(size_t size, int protection = read_write) {
  char* around = map(size + 2 * page, PROT_NONE);
  CHECK_EQ(mprotect(around + page, size, protection), 0);
  CHECK_EQ(madvise(around + page, size, MADV_NOHUGEPAGE), 0);
  return around + page;
}

void test_form(int file) {
  uint64_t words[pages];
  CHECK_ERRNO(pread(file, words, 7, 0), EINVAL);
  CHECK_ERRNO(pread(file, words, 12, 0), EINVAL);
  CHECK_ERRNO(pread(file, words, 8, 4), EINVAL);
  CHECK_EQ(pread(file, words, 0, 8), 0);
  char* area = lone_area(pages * page);
  area[0] = area[2 * page] = 1;
  CHECK_EQ(lseek(file, place_of(area), SEEK_SET), place_of(area));
  CHECK_EQ(read(file, words, sizeof words), sizeof words);
  CHECK((words[0] & present) != 0 && (words[1] & ~soft_dirty) == 0 && (words[2] & present) != 0);
  CHECK_EQ(lseek(file, 0, SEEK_CUR), place_of(area + pages * page));
  CHECK_EQ(lseek(file, -16, SEEK_CUR), place_of(area + (pages - 2) * page));
  CHECK_ERRNO(lseek(file, 0, SEEK_END), EINVAL);
  CHECK_EQ(lseek(file, 4, SEEK_SET), 4);
  CHECK_ERRNO(read(file, words, 8), EINVAL);
  CHECK_EQ(lseek(file, 0, SEEK_SET), 0);
  // Its end is that of the addresses.
  CHECK_EQ(pread(file, words, sizeof words, static_cast<off_t>((all_pages - 3) * 8)), 24);
  CHECK_EQ(pread(file, words, 8, static_cast<off_t>(all_pages * 8)), 0);
  CHECK_EQ(pread(file, words, 8, INT64_MAX - 15), 0);
  CHECK_ERRNO(pread(file, const_cast<char*>(check_address(8)), 8, place_of(area)), EFAULT);
  CHECK_EQ(munmap(area - page, (pages + 2) * page), 0);
}

void test_beside_others(int file) {
  char* area = lone_area(pages * page);
  uint64_t random = 12345;
  for (int round = 0; round < 20; ++round) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const size_t chosen = (random >> 40) % pages;
    if (round % 5 == 4) CHECK_EQ(madvise(area + chosen * page, page, MADV_DONTNEED), 0);
    if (round % 5 != 4) area[chosen * page] = 1;
    unsigned char in_memory[pages];
    uint64_t words[pages];
    CHECK_EQ(mincore(area, sizeof in_memory * page, in_memory), 0);
    CHECK_EQ(pread(file, words, sizeof words, place_of(area)), sizeof words);
    long count = 0;
    for (size_t i = 0; i < pages; ++i) {
      CHECK_EQ(words[i] >> 63, in_memory[i] & 1);
      count += in_memory[i] & 1;
      if ((words[i] & present) == 0) CHECK_EQ(words[i] & ~soft_dirty, 0);
    }
    CHECK_EQ(amount_in_area(area, "Rss"), count * 4);
  }
  memset(area, 1, pages * page);
  CHECK_EQ(mprotect(area, pages * page, PROT_NONE), 0);  // what is closed stays in memory
  for (size_t i = 0; i < pages; ++i) CHECK_EQ(kind_of(file, area + i * page), present);
  CHECK_EQ(munmap(area - page, (pages + 2) * page), 0);
}

void test_kinds(int file) {
  char name[] = "/tmp/pagemapXXXXXX";
  const int mapped = mkstemp(name);
  CHECK(mapped >= 0);
  CHECK_EQ(ftruncate(mapped, 4 * page), 0);
  CHECK_EQ(pwrite(mapped, "x", 1, 3 * page), 1);
  const auto map_file = [&](int flags) {
    void* at = mmap(nullptr, 4 * page, read_write, flags, mapped, 0);
    CHECK(at != MAP_FAILED);
    return static_cast<volatile char*>(at);
  };
  volatile char* own = map_file(MAP_PRIVATE);
  volatile char* shared = map_file(MAP_SHARED);
  (void)own[3 * page];
  CHECK_EQ(kind_of(file, own + 3 * page), present | of_file);
  own[3 * page] = 'y';
  CHECK_EQ(kind_of(file, own + 3 * page), present);
  CHECK_EQ(mprotect(const_cast<char*>(own), 4 * page, PROT_READ), 0);
  CHECK_EQ(kind_of(file, own + 3 * page), present);
  CHECK_EQ(word_of(file, own + 3 * page) & mapped_once, mapped_once);
  CHECK_EQ(mprotect(const_cast<char*>(own), 4 * page, PROT_NONE), 0);
  CHECK_EQ(kind_of(file, own + 3 * page), present);
  (void)shared[3 * page];
  CHECK_EQ(kind_of(file, shared + 3 * page), present | of_file);
  shared[0] = 'z';
  CHECK_EQ(kind_of(file, shared), present | of_file);
  void* anonymous = mmap(nullptr, 2 * page, read_write, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(anonymous != MAP_FAILED);
  *static_cast<volatile char*>(anonymous) = 1;
  CHECK_EQ(kind_of(file, anonymous), present | of_file);
  CHECK_EQ(word_of(file, anonymous) & mapped_once, mapped_once);
  CHECK_EQ(word_of(file, static_cast<char*>(anonymous) + page), 0);
  CHECK_EQ(munmap(anonymous, 2 * page), 0);
  CHECK_EQ(close(mapped), 0);
  CHECK_EQ(unlink(name), 0);
}

// A page that a child shares is not mapped once; of its own copy it is again.
void test_children(int file) {
  char* area = lone_area(pages * page);
  area[0] = area[page] = 1;
  CHECK_EQ(word_of(file, area) & mapped_once, mapped_once);
  children::Gate go, done;
  const pid_t child = children::spawn([&] {
    area[0] = 2;
    done.open();
    go.pass();
    return 0;
  });
  done.pass();
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/pagemap", child);
  const int of_child = open(path, O_RDONLY);
  CHECK(of_child >= 0);
  for (const int from : children::Numbers{file, of_child}) {
    CHECK_EQ(word_of(from, area) & (present | mapped_once), present | mapped_once);
    CHECK_EQ(word_of(from, area + page) & (present | mapped_once), present);
    CHECK_EQ(word_of(from, area + 2 * page), 0);
  }
  if (geteuid() == 0) {
    CHECK((word_of(file, area) & frame) != (word_of(of_child, area) & frame));
    CHECK_EQ(word_of(file, area + page) & frame, word_of(of_child, area + page) & frame);
    CHECK((word_of(file, area) & frame) != 0);
  }
  go.open();
  siginfo_t told;
  CHECK_EQ(waitid(P_PID, static_cast<id_t>(child), &told, WEXITED | WNOWAIT), 0);
  uint64_t word = 0;
  CHECK_EQ(pread(of_child, &word, 8, place_of(area)), 0);  // it has no memory any more
  children::expect_exit(child, 0);
  CHECK_EQ(pread(of_child, &word, 8, place_of(area)), 0);
  CHECK_EQ(close(of_child), 0);
  CHECK_EQ(munmap(area - page, (pages + 2) * page), 0);
}

// Nobody else is told where pages are: what counts is who opened the file.
void test_rights() {
  if (geteuid() != 0) return;
  children::expect_exit(children::spawn([] {
                          char* area = lone_area(pages * page);
                          area[0] = 1;
                          const int as_root = own_map();
                          CHECK_EQ(setresuid(1001, 1001, 1001), 0);
                          CHECK_ERRNO(open("/proc/self/pagemap", O_RDONLY), EACCES);
                          CHECK_EQ(prctl(PR_SET_DUMPABLE, 1), 0);
                          CHECK((word_of(as_root, area) & frame) != 0);
                          const int as_user = own_map();
                          CHECK_EQ(word_of(as_user, area), present | mapped_once);
                          CHECK_ERRNO(open("/proc/self/pagemap", O_RDWR), EACCES);
                          CHECK_ERRNO(open("/proc/1/pagemap", O_RDONLY), EACCES);
                          return 0;
                        }),
                        0);
  const int file = open("/proc/self/pagemap", O_RDWR);
  CHECK(file >= 0);
  CHECK_ERRNO(write(file, "12345678", 8), EINVAL);
  CHECK_EQ(close(file), 0);
}

// A large read of what was reserved only is as good as any.
void test_holes(int file) {
  constexpr size_t reserved = size_t{1} << 40, words = 64 << 10;
  char* area = map(reserved, PROT_NONE, MAP_NORESERVE);
  auto* told = reinterpret_cast<uint64_t*>(map(words * 8));
  memset(told, 0xff, words * 8);
  CHECK_EQ(pread(file, told, words * 8, place_of(area + reserved / 2)), words * 8);
  uint64_t any = 0;
  for (size_t i = 0; i < words; ++i) any |= told[i] & ~soft_dirty;
  CHECK_EQ(any, 0);
  CHECK_EQ(munmap(told, words * 8), 0);
  CHECK_EQ(munmap(area, reserved), 0);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("pagemaptest", argc, argv);
  const int file = own_map();
  test_form(file);
  test_beside_others(file);
  test_kinds(file);
  test_children(file);
  test_rights();
  test_holes(file);
  CHECK_EQ(close(file), 0);
  return check_done();
}
