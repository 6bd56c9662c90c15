// The values that each kind of argument takes, and the files, descriptors and mappings behind them.
#include "probes/errno/table.h"

#include "tests/check.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>

namespace errnotest {

namespace {

constexpr size_t page = 4096;
// No case names anything outside of the outer directory.
constexpr const char* outer_directory = "/tmp/errnotest.files";
constexpr const char* directory = "/tmp/errnotest.files/inner";

constexpr int most_values = 48;
constexpr int fd_fifo = fd_end;

struct List {
  Value values[most_values];
  int count = 0;
  void add(const char* label, long value) {
    CHECK(count < most_values);
    values[count++] = {label, value};
  }
  void add(const char* label, const void* pointer) { add(label, reinterpret_cast<long>(pointer)); }
};

List descriptors;
List directories;
List paths;
List inputs;
List outputs;
List lengths;
List offsets;
List single_bits;
List processes;
List signals;
List sizes_of_set;
List areas;

// The good page, with zeros; in the middle of unmapped ones. Fixed, so that cases mean the same in each child.
char* const arena = reinterpret_cast<char*>(0x10'0000'0000);
char* const good_page = arena;
char* const read_only_page = arena + 4 * page;
char* const free_area = arena + 8 * page;    // four pages for calls about memory
char* const free_end = free_area + 4 * page;  // nothing is mapped here
char* const unmapped = arena + 64 * page;

char bit_names[32][8];
char long_path[PATH_MAX + 1];
char longest_path[PATH_MAX];
char long_name[NAME_MAX + 2];
char longest_name[NAME_MAX + 1];

constexpr long numbers_room = 4096;
Value pool[numbers_room];
int pool_used = 0;

void fill_strings() {
  memset(long_name, 'n', sizeof long_name - 1);
  memset(longest_name, 'n', sizeof longest_name - 1);
  for (size_t i = 0; i + 1 < sizeof long_path; ++i) { long_path[i] = i % 2 == 0 ? '.' : '/'; }
  for (size_t i = 0; i + 1 < sizeof longest_path; ++i) { longest_path[i] = i % 2 == 0 ? '.' : '/'; }
}

void add_pointers(List& list) {
  list.add("null", 0L);
  list.add("kernel", 0xffff800000000000);
  list.add("non-canonical", 0x4141000000000000);
  list.add("unmapped", unmapped);
  list.add("wrapping", ~1L);
  list.add("straddling", good_page + page - 2);
}

void put(int descriptor, int number) {
  CHECK(descriptor >= 0);
  CHECK_EQ(dup2(descriptor, number), number);
  close(descriptor);
}

void make_sockets() {
  int ends[2];
  CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
  put(ends[0], fd_socket);  // the other end stays open
  CHECK_EQ(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, ends), 0);
  put(ends[0], fd_datagram);
  const int listening = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  memcpy(name.sun_path, "socket", 7);
  unlink("socket");
  CHECK_EQ(bind(listening, reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
  CHECK_EQ(listen(listening, 4), 0);
  put(listening, fd_listening);
}

void make_descriptors() {
  put(open("file", O_RDWR), fd_file);
  put(open("file", O_RDONLY), fd_reading);
  put(open("file", O_WRONLY), fd_writing);
  put(open("dir", O_RDONLY | O_DIRECTORY), fd_directory);
  put(open("file", O_PATH), fd_path);
  int ends[2];
  CHECK_EQ(pipe2(ends, O_NONBLOCK), 0);
  char bytes[64] = {};
  CHECK_EQ(write(ends[1], bytes, sizeof bytes), sizeof bytes);
  put(ends[0], fd_pipe_end);
  put(ends[1], fd_pipe_begin);
  make_sockets();
  put(eventfd(3, EFD_NONBLOCK), fd_event);
  put(epoll_create1(0), fd_epoll);
  put(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK), fd_timer);
  put(open("/dev/null", O_RDWR), fd_null);
  put(open("/dev/zero", O_RDWR), fd_zero);
}

void map(char* at, size_t pages, int protection) {
  CHECK(mmap(at, pages * page, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at);
}

void restore_memory() {
  map(good_page, 1, PROT_READ | PROT_WRITE);
  map(read_only_page, 1, PROT_READ);
  map(free_area, 4, PROT_READ | PROT_WRITE);
  CHECK_EQ(munmap(free_end, 40 * page), 0);
}

// Everything in this directory.
void remove_all(const char* path) {
  DIR* directory_stream = opendir(path);
  CHECK(directory_stream != nullptr);
  while (const dirent* entry = readdir(directory_stream)) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) { continue; }
    char name[2 * NAME_MAX + 3];
    snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
    if (unlink(name) == 0) { continue; }
    if (rmdir(name) == 0) { continue; }
    remove_all(name);
    CHECK_EQ(rmdir(name), 0);
  }
  closedir(directory_stream);
}

void restore_files() {
  CHECK(mkdir(outer_directory, 0755) == 0 || errno == EEXIST);
  CHECK(mkdir(directory, 0755) == 0 || errno == EEXIST);
  CHECK_EQ(chdir(directory), 0);
  umask(022);
  remove_all(".");
  const int file = open("file", O_RDWR | O_CREAT, 0644);
  CHECK(file >= 0);
  char bytes[256] = {};
  CHECK_EQ(write(file, bytes, sizeof bytes), sizeof bytes);
  close(file);
  CHECK_EQ(mkdir("dir", 0755), 0);
  CHECK_EQ(mkdir("full", 0755), 0);
  CHECK_EQ(symlink("file", "full/x"), 0);
  CHECK_EQ(symlink("file", "link"), 0);
  CHECK_EQ(symlink("dir", "link-to-dir"), 0);
  CHECK_EQ(symlink("nowhere", "dangling"), 0);
  CHECK_EQ(symlink("loop", "loop"), 0);
  CHECK_EQ(mkfifo("fifo", 0644), 0);
  put(open("fifo", O_RDWR | O_NONBLOCK), fd_fifo);  // nobody waits for another end
}

Argument of(const List& list, const char* name, long good) {
  return {name, good, list.values, list.count};
}

}  // namespace

void make_values() {
  fill_strings();
  descriptors.add("minus-one", -1);
  descriptors.add("closed", 99);
  descriptors.add("huge", INT_MAX);
  descriptors.add("file-with-high-bits", fd_file | (1L << 32));
  constexpr const char* names[] = {"file",     "reading",   "writing", "directory", "path",  "pipe-end", "pipe-begin", "socket",
                                   "datagram", "listening", "event",   "epoll",     "timer", "null",     "zero"};
  static_assert(sizeof names / sizeof *names == fd_end - fd_file);
  for (int i = fd_file; i < fd_end; ++i) { descriptors.add(names[i - fd_file], i); }
  directories = descriptors;
  directories.add("working", AT_FDCWD);

  add_pointers(paths);
  constexpr const char* texts[] = {
      "",     "missing", "missing/", "missing/x", "file",   "file/",       "file/x",       "dir",
      "dir/", "dir/..",  ".",        "..",        "link",   "dangling",    "loop",         "loop/x",
      "full", "fifo",    "socket",   "dir/.",     "full/x", "link-to-dir", "link-to-dir/", "link/"};
  for (const char* text : texts) { paths.add(*text == '\0' ? "empty" : text, text); }
  paths.add("name-of-255", longest_name);
  paths.add("name-of-256", long_name);
  paths.add("path-of-4095", longest_path);
  paths.add("path-of-4096", long_path);

  add_pointers(inputs);
  inputs.add("misaligned", good_page + 1);
  add_pointers(outputs);
  outputs.add("read-only", read_only_page);
  outputs.add("misaligned", good_page + 1);

  for (const long n : {0L, 1L, 7L, 4096L, -1L, LONG_MIN, LONG_MAX, 1L << 31, 1L << 32, 1L << 60}) { lengths.add(nullptr, n); }
  for (const long n : {0L, 1L, 4096L, -1L, LONG_MIN, LONG_MAX, LONG_MAX - 4095, 1L << 31, 1L << 32, 1L << 60}) {
    offsets.add(nullptr, n);
  }
  for (int bit = 0; bit < 32; ++bit) {
    snprintf(bit_names[bit], sizeof bit_names[bit], "bit-%d", bit);
    single_bits.add(bit_names[bit], 1L << bit);
  }
  single_bits.add("all", 0xffffffff);
  for (const long n : {0L, 1L, 999999L, static_cast<long>(INT_MAX), static_cast<long>(INT_MIN)}) { processes.add(nullptr, n); }
  for (const long n : {0L, -1L, 32L, 64L, 65L, static_cast<long>(INT_MAX)}) { signals.add(nullptr, n); }
  for (const long n : {0L, 4L, 7L, 9L, 16L, 128L, -1L}) { sizes_of_set.add(nullptr, n); }
  areas.add("null", 0L);
  areas.add("one", 1L);
  areas.add("misaligned", free_area + 1);
  areas.add("unmapped", unmapped);
  areas.add("kernel", 0xffff800000000000);
  areas.add("non-canonical", 0x4141000000000000);
  areas.add("last-page", ~0L << 12);
  areas.add("partly-mapped", free_end - page);
}

void restore() {
  restore_memory();
  restore_files();
}

void make_fixture() {
  restore();
  make_descriptors();
}

// ---- arguments -----------------------------------------------------------------------------------------------------------

Argument fd(int good) {
  return of(descriptors, "fd", good);
}
Argument directory_fd() {
  return of(directories, "directory", AT_FDCWD);
}
Argument path(const char* good) {
  return of(paths, "path", reinterpret_cast<long>(good));
}
Argument in(const void* good) {
  return of(inputs, "in", reinterpret_cast<long>(good));
}
Argument out() {
  return of(outputs, "out", reinterpret_cast<long>(good_page));
}
Argument out_or_null() {
  return of(outputs, "out", 0);
}
Argument length(long good) {
  return of(lengths, "length", good);
}
Argument offset(long good) {
  return of(offsets, "offset", good);
}
Argument bits(long good) {
  return of(single_bits, "flags", good);
}
Argument process(long good) {
  return of(processes, "process", good);
}
Argument signal_number(long good) {
  return of(signals, "signal", good);
}
Argument size_of_set() {
  return of(sizes_of_set, "set-size", 8);
}
Argument area() {
  return of(areas, "area", reinterpret_cast<long>(free_area));
}
Argument same(long good) {
  return {"same", good, nullptr, 0};
}

Argument numbers_of(const long* values, int count) {
  CHECK(pool_used + count <= numbers_room);
  const Value* first = &pool[pool_used];
  for (int i = 1; i < count; ++i) { pool[pool_used++] = {nullptr, values[i]}; }
  return {"number", values[0], first, count - 1};
}

// ---- the table -----------------------------------------------------------------------------------------------------------

Row& Table::next() {
  CHECK(size_ < most);
  return rows_[size_++];
}

}  // namespace errnotest
