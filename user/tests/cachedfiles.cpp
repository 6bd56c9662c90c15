// Files whose pages come and go: what threads read at random places is what was written there, mappings see what write has written and
// the other way round, private copies stay private, a shorter file has lost its end for good, appenders never write over one another.
// In a directory of its own below $TEST_DIRECTORY (/tmp when there is none). Runs on Linux too.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <thread>
#include <vector>

#include "tests/check.h"

namespace {

constexpr size_t page = 4096;

// What stands at each 8 bytes of the file.
uint64_t word_at(uint64_t place, uint64_t salt) {
  uint64_t x = (place + salt) * 0x9e3779b97f4a7c15u;
  return x ^ (x >> 29);
}

void fill(std::vector<uint64_t>& words, uint64_t first, uint64_t salt) {
  for (size_t i = 0; i < words.size(); ++i) words[i] = word_at(first + i, salt);
}

int make_file(const char* name, size_t pages, uint64_t salt) {
  const int file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
  CHECK(file >= 0);
  std::vector<uint64_t> words(16 * page / 8);
  for (size_t at = 0; at < pages * page;) {
    const size_t now = pages * page - at < words.size() * 8 ? pages * page - at : words.size() * 8;
    fill(words, at / 8, salt);
    CHECK_EQ(write(file, words.data(), now), static_cast<ssize_t>(now));
    at += now;
  }
  return file;
}

void test_random_reads() {
  constexpr size_t pages = 300;
  const int file = make_file("random", pages, 1);
  CHECK_EQ(fsync(file), 0);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      uint64_t seed = t + 1;
      for (long i = 0; i < 200 * check_effort; ++i) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        const size_t place = (seed >> 20) % (pages * page / 8 - 32);
        uint64_t words[32];
        CHECK_EQ(pread(file, words, sizeof words, static_cast<off_t>(place * 8)), static_cast<ssize_t>(sizeof words));
        for (size_t k = 0; k < 32; ++k) CHECK_EQ(words[k], word_at(place + k, 1));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_EQ(close(file), 0);
}

void test_mappings() {
  const int file = make_file("mapped", 8, 2);
  auto* shared = static_cast<uint64_t*>(mmap(nullptr, 8 * page, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  auto* privately = static_cast<uint64_t*>(mmap(nullptr, 8 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0));
  CHECK(shared != MAP_FAILED && privately != MAP_FAILED);
  for (size_t i = 0; i < 8 * page / 8; i += 64) CHECK_EQ(shared[i], word_at(i, 2));
  const uint64_t mine = 0x1122334455667788, ours = 0x99aabbccddeeff00;
  privately[0] = mine;
  CHECK_EQ(shared[0], word_at(0, 2));
  shared[512] = ours;  // page 1, which was read before
  uint64_t got = 0;
  CHECK_EQ(pread(file, &got, 8, page), 8);
  CHECK_EQ(got, ours);
  CHECK_EQ(privately[512], ours);  // not copied yet
  CHECK_EQ(pwrite(file, &mine, 8, 2 * page), 8);
  CHECK_EQ(shared[1024], mine);
  CHECK_EQ(msync(shared, 8 * page, MS_SYNC), 0);
  shared[513] = mine;  // after it was written back once
  CHECK_EQ(munmap(shared, 8 * page), 0);
  CHECK_EQ(fsync(file), 0);
  CHECK_EQ(pread(file, &got, 8, page + 8), 8);
  CHECK_EQ(got, mine);
  CHECK_EQ(pread(file, &got, 8, 0), 8);
  CHECK_EQ(got, word_at(0, 2));
  CHECK_EQ(munmap(privately, 8 * page), 0);
  CHECK_EQ(close(file), 0);
}

void test_forked_mapping() {
  const int file = make_file("forked", 4, 3);
  auto* shared = static_cast<volatile uint64_t*>(mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  CHECK(shared != MAP_FAILED);
  CHECK_EQ(shared[0], word_at(0, 3));
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    shared[0] = 7;
    shared[1024] = 8;
    _exit(0);
  }
  int status = -1;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
  CHECK_EQ(shared[0], 7u);
  uint64_t got = 0;
  CHECK_EQ(pread(file, &got, 8, 2 * page), 8);
  CHECK_EQ(got, 8u);
  CHECK_EQ(munmap(const_cast<uint64_t*>(shared), 4 * page), 0);
  CHECK_EQ(close(file), 0);
}

void test_truncation() {
  const int file = make_file("shorter", 6, 4);
  CHECK_EQ(ftruncate(file, 2 * page + 100), 0);
  struct stat info;
  CHECK_EQ(fstat(file, &info), 0);
  CHECK_EQ(info.st_size, static_cast<off_t>(2 * page + 100));
  CHECK_EQ(ftruncate(file, 6 * page), 0);
  std::vector<uint8_t> rest(4 * page);
  CHECK_EQ(pread(file, rest.data(), rest.size(), 2 * page + 100), static_cast<ssize_t>(4 * page - 100));
  for (size_t i = 0; i < 4 * page - 100; ++i) CHECK_EQ(rest[i], 0);
  const uint64_t word = 5;
  CHECK_EQ(pwrite(file, &word, 8, 100 * page), 8);  // a hole before it
  uint64_t got = 1;
  CHECK_EQ(pread(file, &got, 8, 50 * page), 8);
  CHECK_EQ(got, 0u);
  CHECK_EQ(fstat(file, &info), 0);
  CHECK_EQ(info.st_size, static_cast<off_t>(100 * page + 8));
  CHECK_EQ(close(file), 0);
}

// Lines longer than a page, by several threads with open files of their own: all are there, and whole.
void test_appending() {
  constexpr unsigned writers = 4, lines = 40;
  constexpr size_t length = page + 904;
  CHECK_EQ(close(open("lines", O_WRONLY | O_CREAT | O_TRUNC, 0644)), 0);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < writers; ++t) {
    threads.emplace_back([t] {
      const int file = open("lines", O_WRONLY | O_APPEND);
      CHECK(file >= 0);
      const std::vector<char> line(length, static_cast<char>('a' + t));
      for (unsigned i = 0; i < lines; ++i) CHECK_EQ(write(file, line.data(), length), static_cast<ssize_t>(length));
      CHECK_EQ(close(file), 0);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const int file = open("lines", O_RDONLY);
  CHECK(file >= 0);
  unsigned seen[writers] = {};
  std::vector<char> line(length);
  for (unsigned i = 0; i < writers * lines; ++i) {
    CHECK_EQ(read(file, line.data(), length), static_cast<ssize_t>(length));
    for (const char c : line) CHECK_EQ(c, line[0]);
    ++seen[line[0] - 'a'];
  }
  for (const unsigned count : seen) CHECK_EQ(count, lines);
  CHECK_EQ(read(file, line.data(), 1), 0);
  CHECK_EQ(close(file), 0);
}

// What /proc/self/smaps says of the mapping that begins there, in pages.
size_t pages_in(const void* start, const char* what) {
  FILE* maps = fopen("/proc/self/smaps", "r");
  CHECK(maps != nullptr);
  char line[512];
  char begin[32];
  snprintf(begin, sizeof begin, "%lx-", reinterpret_cast<unsigned long>(start));
  bool found = false;
  size_t kilobytes = 0;
  while (fgets(line, sizeof line, maps) != nullptr) {
    if (strncmp(line, begin, strlen(begin)) == 0) found = true;
    if (found && strncmp(line, what, strlen(what)) == 0) {
      CHECK_EQ(sscanf(line + strlen(what), ": %zu", &kilobytes), 1);
      break;
    }
  }
  fclose(maps);
  return kilobytes * 1024 / page;
}

// More than is read at once, from a buffer that is itself a mapping of another file.
void test_from_a_mapping() {
  constexpr size_t size = 50 * page + 17;
  const int from = make_file("from", 51, 6);
  const int to = open("to", O_RDWR | O_CREAT | O_TRUNC, 0644);
  void* bytes = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, from, 0);
  CHECK(bytes != MAP_FAILED);
  CHECK_EQ(write(to, bytes, size), static_cast<ssize_t>(size));
  std::vector<char> back(size);
  CHECK_EQ(pread(to, back.data(), size, 0), static_cast<ssize_t>(size));
  CHECK_EQ(memcmp(back.data(), bytes, size), 0);
  CHECK_EQ(munmap(bytes, size), 0);
  CHECK_EQ(close(from), 0);
  CHECK_EQ(close(to), 0);
}

// What is in memory already is mapped at once, when that is wanted.
void test_populated_mapping() {
  constexpr size_t pages = 8;
  const int file = make_file("populated", pages, 7);
  for (const int kind : {MAP_SHARED, MAP_PRIVATE}) {
    void* bytes = mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, kind | MAP_POPULATE, file, 0);
    CHECK(bytes != MAP_FAILED);
    CHECK_EQ(pages_in(bytes, "Rss"), pages);
    CHECK_EQ(munmap(bytes, pages * page), 0);
  }
  CHECK_EQ(close(file), 0);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("cachedfiles", argc, argv);
  const char* base = getenv("TEST_DIRECTORY");
  char directory[256];
  snprintf(directory, sizeof directory, "%s/cachedfiles.XXXXXX", base != nullptr ? base : "/tmp");
  CHECK(mkdtemp(directory) != nullptr);
  CHECK_EQ(chdir(directory), 0);
  test_random_reads();
  test_mappings();
  test_forked_mapping();
  test_truncation();
  test_appending();
  test_from_a_mapping();
  test_populated_mapping();
  for (const char* name : {"random", "mapped", "forked", "shorter", "lines", "from", "to", "populated"})
    CHECK_EQ(unlink(name), 0);
  CHECK_EQ(chdir("/"), 0);
  CHECK_EQ(rmdir(directory), 0);
  return check_done();
}
