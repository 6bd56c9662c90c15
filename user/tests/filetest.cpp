// Files and names: opening, positions, holes, appending, truncating, mapping, directories, links, renaming, sendfile,
// attributes, fifos, descriptors and their limit, and several writers of one open file. In a directory of its own
// below $TEST_DIRECTORY (/tmp when there is none).

#include "tests/check.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>

namespace {

struct File {
  int descriptor;
  explicit File(const char* path, int flags = O_RDWR | O_CREAT | O_TRUNC, mode_t mode = 0644)
      : descriptor{open(path, flags, mode)} {
    CHECK(descriptor >= 0);
  }
  ~File() { CHECK_EQ(close(descriptor), 0); }
  operator int() const { return descriptor; }
};

off_t size_of(const char* path) {
  struct stat status;
  CHECK_EQ(stat(path, &status), 0);
  return status.st_size;
}

long links_of(const char* path) {
  struct stat status;
  CHECK_EQ(stat(path, &status), 0);
  return static_cast<long>(status.st_nlink);
}

void test_opening() {
  { File file{"file"}; }
  CHECK_ERRNO(open("file", O_RDWR | O_CREAT | O_EXCL, 0644), EEXIST);
  CHECK_ERRNO(open("/", O_RDWR | O_CREAT | O_EXCL, 0644), EEXIST);
  CHECK_ERRNO(open("/", O_RDWR | O_CREAT, 0644), EISDIR);
  CHECK_ERRNO(open("/tmp/", O_RDWR | O_CREAT | O_EXCL, 0644), EISDIR);
  CHECK_ERRNO(open("file/", O_RDONLY), ENOTDIR);
  CHECK_ERRNO(open("file/x", O_RDONLY), ENOTDIR);
  CHECK_ERRNO(open("none/x", O_RDWR | O_CREAT, 0644), ENOENT);
  CHECK_ERRNO(open("new/", O_RDWR | O_CREAT, 0644), EISDIR);
  CHECK_ERRNO(open(".", O_WRONLY), EISDIR);
  CHECK_ERRNO(open("", O_RDONLY), ENOENT);
  CHECK_ERRNO(open("file", O_RDONLY | O_DIRECTORY), ENOTDIR);
  CHECK_ERRNO(openat(-5, "file", O_RDONLY), EBADF);
  static char longest[PATH_MAX + 10];
  memset(longest, 'a', sizeof longest - 1);
  CHECK_ERRNO(open(longest, O_RDONLY), ENAMETOOLONG);
  longest[NAME_MAX + 1] = 0;
  CHECK_ERRNO(open(longest, O_RDONLY), ENAMETOOLONG);
  longest[NAME_MAX] = 0;
  CHECK_ERRNO(open(longest, O_RDONLY), ENOENT);
  umask(077);
  { File file{"private"}; }
  umask(022);
  struct stat status;
  CHECK_EQ(stat("private", &status), 0);
  CHECK_EQ(status.st_mode, S_IFREG | 0600);
  CHECK_EQ(unlink("private"), 0);
  CHECK_EQ(unlink("file"), 0);
}

// O_DIRECT and O_ASYNC are for files that know what to do with them.
void test_flags() {
  CHECK_ERRNO(open(".", O_RDONLY | O_DIRECT), EINVAL);
  CHECK_ERRNO(open("/dev/null", O_RDONLY | O_DIRECT), EINVAL);
  const File null{"/dev/null", O_RDWR};
  CHECK_ERRNO(fcntl(null, F_SETFL, O_DIRECT), EINVAL);
  {
    const File file{"file"};
    const int before = fcntl(file, F_GETFL);
    CHECK_EQ(fcntl(file, F_SETFL, O_ASYNC | O_NONBLOCK), 0);
    CHECK_EQ(fcntl(file, F_GETFL), before | O_NONBLOCK);
    int on = 1;
    CHECK_ERRNO(ioctl(file, FIOASYNC, &on), ENOTTY);
  }
  CHECK_EQ(unlink("file"), 0);
  CHECK_ERRNO(mknod("new", 0170000 | 0600, 0), EINVAL);
}

// O_TRUNC cuts a file that is opened to be read only, too, if it may be written.
void test_cutting() {
  File file{"file"};
  CHECK_EQ(write(file, "12345", 5), 5);
  { const File read_only{"file", O_RDONLY | O_TRUNC}; }
  CHECK_EQ(size_of("file"), 0);
  CHECK_EQ(write(file, "12345", 5), 5);
  { const File created{"file", O_RDONLY | O_TRUNC | O_CREAT}; }
  CHECK_EQ(size_of("file"), 0);
  CHECK_EQ(unlink("file"), 0);
}

void test_contents() {
  File file{"file"};
  char bytes[64];
  CHECK_EQ(pwrite(file, "hello", 5, 10000), 5);
  CHECK_EQ(size_of("file"), 10005);
  CHECK_EQ(pread(file, bytes, 10, 9995), 10);
  CHECK_EQ(memcmp(bytes, "\0\0\0\0\0hello", 10), 0);
  CHECK_EQ(pread(file, bytes, 10, 20000), 0);
  CHECK_ERRNO(pread(file, bytes, 1, -1), EINVAL);
  CHECK_EQ(lseek(file, -5, SEEK_END), 10000);
  CHECK_EQ(read(file, bytes, sizeof bytes), 5);
  CHECK_ERRNO(lseek(file, -1, SEEK_SET), EINVAL);
  CHECK_ERRNO(lseek(file, 0, 9), EINVAL);
  CHECK_EQ(ftruncate(file, 3), 0);
  CHECK_EQ(ftruncate(file, 20), 0);
  CHECK_EQ(pread(file, bytes, 20, 0), 20);
  CHECK_EQ(bytes[4], 0);
  CHECK_ERRNO(ftruncate(file, -1), EINVAL);

  iovec out[3] = {{const_cast<char*>("abc"), 3}, {nullptr, 0}, {const_cast<char*>("defg"), 4}};
  CHECK_EQ(lseek(file, 0, SEEK_SET), 0);
  CHECK_EQ(writev(file, out, 3), 7);
  char first[3];
  iovec in[2] = {{first, 3}, {bytes, 10}};
  CHECK_EQ(preadv(file, in, 2, 0), 13);
  CHECK_EQ(memcmp(bytes, "defg", 4), 0);
  CHECK_ERRNO(writev(file, out, -1), EINVAL);

  {
    File reader{"file", O_RDONLY};
    CHECK_ERRNO(write(reader, "x", 1), EBADF);
  }
  {
    File writer{"file", O_WRONLY};
    CHECK_ERRNO(read(writer, bytes, 1), EBADF);
  }
  {
    File one{"file", O_WRONLY | O_APPEND | O_TRUNC};
    File two{"file", O_WRONLY | O_APPEND};
    CHECK(write(one, "12", 2) == 2 && write(two, "34", 2) == 2 && write(one, "56", 2) == 2);
  }
  CHECK_EQ(pread(file, bytes, 10, 0), 6);
  CHECK_EQ(memcmp(bytes, "123456", 6), 0);
  CHECK_EQ(unlink("file"), 0);
  struct stat status;
  CHECK_EQ(fstat(file, &status), 0);
  CHECK_EQ(status.st_nlink, 0);
  CHECK_EQ(pwrite(file, "still", 5, 0), 5);  // it lives as long as it is open
}

void test_mapping() {
  File file{"file"};
  CHECK_EQ(ftruncate(file, 8192), 0);
  auto* shared = static_cast<char*>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  auto* own = static_cast<char*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 4096));
  CHECK(shared != MAP_FAILED && own != MAP_FAILED);
  char byte = 0;
  shared[5000] = 'q';
  CHECK_EQ(pread(file, &byte, 1, 5000), 1);
  CHECK_EQ(byte, 'q');
  CHECK_EQ(own[5000 - 4096], 'q');
  CHECK_EQ(pwrite(file, "W", 1, 5001), 1);
  CHECK_EQ(shared[5001], 'W');
  own[5001 - 4096] = 'P';
  CHECK_EQ(shared[5001], 'W');
  CHECK_EQ(munmap(shared, 8192), 0);
  CHECK_EQ(munmap(own, 4096), 0);
  CHECK_EQ(unlink("file"), 0);
  File null{"/dev/null", O_RDWR};
  CHECK_ERRNO(reinterpret_cast<long>(mmap(nullptr, 4096, PROT_READ, MAP_SHARED, null, 0)), ENODEV);
  File zero{"/dev/zero", O_RDWR};
  auto* zeros = static_cast<char*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, zero, 0));
  CHECK(zeros != MAP_FAILED);
  CHECK_EQ(zeros[100], 0);
  CHECK_EQ(munmap(zeros, 4096), 0);
}

void test_directories() {
  CHECK_EQ(mkdir("d", 0755), 0);
  CHECK_ERRNO(mkdir("d", 0755), EEXIST);
  CHECK_EQ(mkdir("d/sub/", 0755), 0);
  CHECK_EQ(links_of("d"), 3);
  { File file{"d/f"}; }
  CHECK_ERRNO(rmdir("d"), ENOTEMPTY);
  CHECK_ERRNO(rmdir("d/f"), ENOTDIR);
  CHECK_ERRNO(rmdir("."), EINVAL);
  CHECK_ERRNO(rmdir("d/.."), ENOTEMPTY);
  CHECK_ERRNO(unlink("d"), EISDIR);
  CHECK_ERRNO(rename("d", "d/sub/x"), EINVAL);
  CHECK_ERRNO(rename("none", "x"), ENOENT);
  CHECK_ERRNO(rename("d/f", "d/sub"), EISDIR);
  CHECK_ERRNO(rename("d/f", "d"), ENOTEMPTY);
  CHECK_ERRNO(rename("d/sub", "d/f"), ENOTDIR);
  CHECK_EQ(rename("d/f", "d/sub/g"), 0);
  CHECK_ERRNO(access("d/f", F_OK), ENOENT);

  constexpr int count = 700;
  char name[64];
  for (int i = 0; i < count; ++i) {
    snprintf(name, sizeof name, "d/n%d", i);
    File file{name};
  }
  DIR* directory = opendir("d");
  CHECK(directory != nullptr);
  int seen = 0;
  while (const dirent* entry = readdir(directory)) {
    ++seen;
    if (entry->d_name[0] == 'n') {  // removing what was read disturbs nothing
      snprintf(name, sizeof name, "d/%.40s", entry->d_name);
      CHECK_EQ(entry->d_type, DT_REG);
      CHECK_EQ(unlink(name), 0);
    }
  }
  CHECK_EQ(seen, count + 3);
  CHECK_EQ(closedir(directory), 0);

  char path[PATH_MAX];
  File opened{"d", O_RDONLY | O_DIRECTORY};
  CHECK_ERRNO(read(opened, name, 1), EISDIR);
  CHECK_EQ(fchdir(opened), 0);
  CHECK(getcwd(path, sizeof path) != nullptr && strcmp(strrchr(path, '/'), "/d") == 0);
  CHECK(getcwd(path, 2) == nullptr && errno == ERANGE);
  CHECK_EQ(unlink("sub/g"), 0);
  CHECK_EQ(rmdir("sub"), 0);
  CHECK_EQ(chdir(".."), 0);
  CHECK_EQ(rmdir("d"), 0);
  CHECK_ERRNO(openat(opened, "late", O_RDWR | O_CREAT, 0644), ENOENT);
  CHECK_ERRNO(openat(1, "x", O_RDONLY), ENOTDIR);
}

void test_links() {
  {
    File file{"f"};
    CHECK_EQ(write(file, "123456", 6), 6);
  }
  CHECK_EQ(symlink("f", "s"), 0);
  CHECK_ERRNO(symlink("f", "s"), EEXIST);
  struct stat status;
  CHECK_EQ(lstat("s", &status), 0);
  CHECK(S_ISLNK(status.st_mode) && status.st_size == 1);
  CHECK_EQ(size_of("s"), 6);
  char text[8] = "???????";
  CHECK_EQ(readlink("s", text, sizeof text), 1);
  CHECK_EQ(memcmp(text, "f?", 2), 0);
  CHECK_ERRNO(readlink("f", text, sizeof text), EINVAL);
  CHECK_ERRNO(open("s", O_RDONLY | O_NOFOLLOW), ELOOP);
  CHECK_EQ(link("f", "h"), 0);
  CHECK_EQ(links_of("f"), 2);
  CHECK_ERRNO(link(".", "l"), EPERM);
  CHECK_ERRNO(link("f", "h"), EEXIST);
  CHECK_EQ(rename("f", "h"), 0);  // two names of one file: nothing happens
  CHECK_EQ(links_of("f"), 2);
  CHECK_EQ(unlink("f"), 0);
  CHECK_ERRNO(open("s", O_RDONLY), ENOENT);
  { File made{"s", O_RDWR | O_CREAT}; }  // through the link
  CHECK_EQ(size_of("f"), 0);
  CHECK_EQ(symlink("b", "a"), 0);
  CHECK_EQ(symlink("a", "b"), 0);
  CHECK_ERRNO(open("a", O_RDONLY), ELOOP);
  const char* const names[] = {"a", "b", "f", "h", "s"};
  for (const char* name : names) { CHECK_EQ(unlink(name), 0); }
}

// A slash behind a link's name follows it where a file is looked at, not where the name is made or removed.
void test_slashes() {
  CHECK_EQ(symlink("nowhere", "l"), 0);
  CHECK_ERRNO(mkdir("l/", 0755), EEXIST);
  CHECK_ERRNO(mkdir("l", 0755), EEXIST);
  CHECK_ERRNO(unlink("l/"), ENOTDIR);
  CHECK_ERRNO(rmdir("l/"), ENOTDIR);
  CHECK_ERRNO(rename("l/", "m"), ENOTDIR);
  CHECK_EQ(mkdir("nowhere", 0755), 0);
  struct stat status;
  CHECK_EQ(lstat("l/", &status), 0);
  CHECK(S_ISDIR(status.st_mode));
  CHECK_ERRNO(rmdir("l/"), ENOTDIR);
  CHECK_ERRNO(unlink("l/"), ENOTDIR);
  CHECK_ERRNO(unlink("nowhere/"), EISDIR);
  { File file{"f"}; }
  CHECK_ERRNO(mkdir("f/", 0755), EEXIST);
  CHECK_ERRNO(unlink("f/"), ENOTDIR);
  CHECK_ERRNO(rename("nowhere", "f/"), ENOTDIR);
  CHECK_ERRNO(rename("f", "new/"), ENOTDIR);
  CHECK_ERRNO(symlink("x", "new/"), ENOENT);
  CHECK_EQ(rename("nowhere", "moved/"), 0);
  CHECK_ERRNO(fchmodat(AT_FDCWD, "l", 0600, AT_SYMLINK_NOFOLLOW), EOPNOTSUPP);  // a link has no mode
  CHECK_EQ(rmdir("moved/"), 0);
  CHECK_EQ(unlink("f"), 0);
  CHECK_EQ(unlink("l"), 0);
}

void test_descriptors() {
  File file{"f"};
  const int copy = dup(file);
  CHECK(copy >= 0);
  CHECK_EQ(lseek(file, 2, SEEK_SET), 2);
  CHECK_EQ(lseek(copy, 0, SEEK_CUR), 2);
  CHECK_EQ(dup2(file, 60), 60);
  CHECK_ERRNO(dup3(file, file, 0), EINVAL);
  CHECK_EQ(dup3(file, 61, O_CLOEXEC), 61);
  CHECK_EQ(fcntl(61, F_GETFD), FD_CLOEXEC);
  CHECK_EQ(fcntl(60, F_GETFD), 0);
  CHECK_EQ(fcntl(file, F_DUPFD, 100), 100);
  CHECK_EQ(fcntl(file, F_GETFL) & O_ACCMODE, O_RDWR);
  const int descriptors[] = {60, 61, 100, copy};
  for (const int descriptor : descriptors) { CHECK_EQ(close(descriptor), 0); }
  CHECK_ERRNO(close(copy), EBADF);
  CHECK_ERRNO(dup2(file, 1 << 24), EBADF);
  termios settings;
  CHECK_ERRNO(tcgetattr(file, &settings), ENOTTY);

  constexpr int limit = 200;
  rlimit before;
  CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit low = {limit, before.rlim_max};
  CHECK_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  int opened[limit];
  int count = 0;
  while (count < limit && (opened[count] = open("/dev/null", O_RDONLY)) >= 0) { ++count; }
  CHECK(count < limit);
  CHECK_EQ(errno, EMFILE);
  CHECK_ERRNO(fcntl(file, F_DUPFD, limit), EINVAL);
  CHECK_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  while (count > 0) { CHECK_EQ(close(opened[--count]), 0); }
  CHECK_EQ(unlink("f"), 0);
}

void test_sendfile() {
  File in{"in"};
  File out{"out"};
  static char block[4096];
  constexpr off_t size = 100 * sizeof block;
  for (int i = 0; i < 100; ++i) {
    memset(block, i, sizeof block);
    CHECK_EQ(write(in, block, sizeof block), static_cast<ssize_t>(sizeof block));
  }
  off_t offset = 96;
  CHECK_EQ(sendfile(out, in, &offset, 1 << 20), size - 96);
  CHECK_EQ(offset, size);
  CHECK_EQ(size_of("out"), size - 96);
  CHECK_EQ(pread(out, block, 1, 4000), 1);
  CHECK_EQ(block[0], 1);
  CHECK_ERRNO(sendfile(-1, in, nullptr, 1), EBADF);
  CHECK_EQ(unlink("in"), 0);
  CHECK_EQ(unlink("out"), 0);
}

void test_attributes() {
  File file{"f"};
  struct stat status;
  CHECK_EQ(fchmod(file, 04751), 0);
  CHECK_EQ(fchown(file, 5, 6), 0);
  const timespec times[2] = {{100, 5}, {0, UTIME_OMIT}};
  CHECK_EQ(fstat(file, &status), 0);
  const time_t modified = status.st_mtim.tv_sec;
  CHECK_EQ(futimens(file, times), 0);
  CHECK_EQ(fstat(file, &status), 0);
  CHECK_EQ(status.st_uid, 5);
  CHECK_EQ(status.st_gid, 6);
  CHECK(status.st_atim.tv_sec == 100 && status.st_atim.tv_nsec == 5 && status.st_mtim.tv_sec == modified);
  CHECK_EQ(chmod("f", 0640), 0);
  CHECK_EQ(stat("f", &status), 0);
  CHECK_EQ(status.st_mode, S_IFREG | 0640);
  // Another owner: the file no longer runs as its owner.
  CHECK_EQ(chmod("f", 06770), 0);
  CHECK_EQ(chown("f", 5, 6), 0);
  CHECK_EQ(stat("f", &status), 0);
  CHECK_EQ(status.st_mode, S_IFREG | 0770);
  CHECK_EQ(chmod("f", 0640), 0);
  CHECK_ERRNO(access("f", X_OK), EACCES);
  CHECK_EQ(unlink("f"), 0);
  CHECK_EQ(stat("/dev/null", &status), 0);
  CHECK(S_ISCHR(status.st_mode) && status.st_rdev == ((1 << 8) | 3));
}

void test_fifo() {
  CHECK_EQ(mkfifo("fifo", 0600), 0);
  CHECK_ERRNO(open("fifo", O_WRONLY | O_NONBLOCK), ENXIO);
  char bytes[8];
  {
    File reader{"fifo", O_RDONLY | O_NONBLOCK};
    File writer{"fifo", O_WRONLY};
    CHECK_EQ(write(writer, "hi", 2), 2);
    CHECK_EQ(read(reader, bytes, sizeof bytes), 2);
    CHECK_ERRNO(read(reader, bytes, sizeof bytes), EAGAIN);
  }
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    File writer{"fifo", O_WRONLY};
    _exit(write(writer, "z", 1) != 1);
  }
  {
    File reader{"fifo", O_RDONLY};  // waits for the child
    CHECK_EQ(read(reader, bytes, sizeof bytes), 1);
    CHECK_EQ(read(reader, bytes, sizeof bytes), 0);
  }
  int status = -1;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
  struct sigaction action{};
  action.sa_handler = [](int) {};
  CHECK_EQ(sigaction(SIGALRM, &action, nullptr), 0);
  ualarm(50000, 0);
  CHECK_ERRNO(open("fifo", O_RDONLY), EINTR);
  CHECK_EQ(unlink("fifo"), 0);
}

int shared_file;
constexpr int line_size = 64;

void* write_lines(void* argument) {
  char line[line_size];
  memset(line, 'A' + static_cast<int>(reinterpret_cast<uintptr_t>(argument)), sizeof line);
  line[line_size - 1] = '\n';
  for (long i = 0; i < 2000 * check_effort; ++i) { CHECK_EQ(write(shared_file, line, sizeof line), line_size); }
  return nullptr;
}

// Threads that share a position overwrite nothing of one another.
void test_sharing() {
  constexpr long writers = 4;
  File file{"lines"};
  shared_file = file;
  pthread_t threads[writers];
  for (uintptr_t i = 0; i < writers; ++i) {
    CHECK_EQ(pthread_create(&threads[i], nullptr, write_lines, reinterpret_cast<void*>(i)), 0);
  }
  for (pthread_t thread : threads) { CHECK_EQ(pthread_join(thread, nullptr), 0); }
  const long lines = writers * 2000 * check_effort;
  CHECK_EQ(size_of("lines"), lines * line_size);
  long count[writers] = {};
  for (long i = 0; i < lines; ++i) {
    char line[line_size];
    CHECK_EQ(pread(file, line, sizeof line, i * line_size), line_size);
    int same = 1;
    for (int k = 1; k < line_size - 1; ++k) { same &= line[k] == line[0]; }
    CHECK(same && line[line_size - 1] == '\n');
    ++count[line[0] - 'A'];
  }
  for (const long one : count) { CHECK_EQ(one, 2000 * check_effort); }
  CHECK_EQ(unlink("lines"), 0);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("filetest", argc, argv);
  const char* base = getenv("TEST_DIRECTORY");
  char directory[256];
  snprintf(directory, sizeof directory, "%s/filetest.XXXXXX", base != nullptr ? base : "/tmp");
  CHECK(mkdtemp(directory) != nullptr);
  CHECK_EQ(chdir(directory), 0);
  test_opening();
  test_flags();
  test_cutting();
  test_contents();
  test_mapping();
  test_directories();
  test_links();
  test_slashes();
  test_descriptors();
  test_sendfile();
  test_attributes();
  if (getenv("TEST_WITHOUT_FIFO") == nullptr) { test_fifo(); }  // QEMU's 9P server refuses to make them
  test_sharing();
  CHECK_EQ(chdir("/"), 0);
  CHECK_EQ(rmdir(directory), 0);
  return check_done();
}
