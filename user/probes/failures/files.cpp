// Names and files of the working directory's file system, and mounting one. See operation.h.
#include "probes/failures/operation.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>

namespace failures {
namespace {

constexpr long size = 30000;  // in several blocks
char bytes[size];

long mount_disk() {
  return mount(getenv("DISK"), "/mnt", "ext2", 0, nullptr);
}

void unmount() {
  if (umount("/mnt") != 0) { CHECK_EQ(errno, EINVAL); }  // nothing is mounted
}

// A disk that has been marked as mounted, when mounting failed after all, is busy until the mark has been taken away.
void unmount_disk() {
  constexpr int most_waits = 1000;
  unmount();
  for (int i = 0; mount_disk() != 0; ++i) {
    CHECK_EQ(errno, EBUSY);
    CHECK(i < most_waits);
    check_sleep_us(10'000);
  }
  unmount();
}
void prepare_disk() {
  CHECK_EQ(mount_disk(), 0);
}
long unmount_it() {
  return umount("/mnt");
}
long mount_in_memory() {
  TRY_CALL(mount("none", "/mnt", "tmpfs", 0, nullptr));
  const Descriptor file{open("/mnt/file", O_RDWR | O_CREAT, 0600)};
  TRY_CALL(file);
  return write(file, bytes, size);
}

long create() {
  const Descriptor file{open("f.file", O_RDWR | O_CREAT | O_EXCL, 0640)};
  TRY_CALL(file);
  const long written = write(file, bytes, size);
  TRY_CALL(written);
  TRY_CALL(fsync(file));
  TRY_CALL(ftruncate(file, 5001));
  return written;
}
void remove_created() {
  unlink("f.file");
}

// When it has answered that all is written, nothing is left to be written. The file stays.
long synchronise() {
  const Descriptor file{open("f.kept", O_RDWR | O_CREAT, 0640)};
  TRY_CALL(file);
  TRY_CALL(write(file, bytes, size));
  TRY_CALL(syncfs(file));
  const Descriptor memory{open("/proc/meminfo", O_RDONLY)};
  TRY_CALL(memory);
  char text[4096] = {};
  TRY_CALL(read(memory, text, sizeof text - 1));
  return from_error(strstr(text, "Dirty:                 0 kB") != nullptr ? 0 : EIO);
}

long map_file() {
  const Descriptor file{open("f.file", O_RDWR | O_CREAT, 0640)};
  TRY_CALL(file);
  TRY_CALL(ftruncate(file, size));
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) return -1;
  for (long at = 0; at < size; at += 5000) static_cast<char*>(memory)[at] = 'x';
  return msync(memory, size, MS_SYNC);
}

long change_names() {
  TRY_CALL(mkdir("f.directory", 0755));
  TRY_CALL(symlink("f.directory/target", "f.link"));
  TRY_CALL(mknod("f.fifo", S_IFIFO | 0600, 0));
  TRY_CALL(rename("f.fifo", "f.directory/fifo"));
  TRY_CALL(link("f.directory/fifo", "f.directory/another"));
  TRY_CALL(rename("f.directory/another", "f.directory/third"));
  TRY_CALL(rename("f.directory/third", "f.link"));
  TRY_CALL(unlink("f.directory/fifo"));
  TRY_CALL(rmdir("f.directory"));
  return 0;
}
void remove_names() {
  constexpr const char* names[] = {"f.link", "f.fifo", "f.directory/fifo", "f.directory/another", "f.directory/third"};
  for (const char* name : names) unlink(name);
  rmdir("f.directory");
}

long change_attributes() {
  const Descriptor file{open("f.file", O_RDWR | O_CREAT, 0640)};
  TRY_CALL(file);
  TRY_CALL(fchmod(file, 04711));
  TRY_CALL(fchown(file, 1000, 1000));
  TRY_CALL(futimens(file, nullptr));
  struct stat status;
  TRY_CALL(stat("../proc/self/cwd/f.file", &status));
  return fallocate(file, 0, 0, size) == -1 && errno != EOPNOTSUPP ? -1 : 0;  // an ext2 has none
}

// Enough names for another block of the directory, and read in pieces.
long many_names() {
  TRY_CALL(mkdir("f.many", 0755));
  for (int i = 0; i < 12; ++i) {
    char name[256];
    snprintf(name, sizeof name, "f.many/%0200d", i);
    const Descriptor file{open(name, O_WRONLY | O_CREAT, 0600)};
    TRY_CALL(file);
  }
  const Descriptor directory{open("f.many", O_RDONLY | O_DIRECTORY)};
  TRY_CALL(directory);
  char entries[1000];
  for (;;) {
    const long got = syscall(SYS_getdents64, directory.number, entries, sizeof entries);
    TRY_CALL(got);
    if (got == 0) return 0;
  }
}
void remove_many() {
  for (int i = 0; i < 12; ++i) {
    char name[256];
    snprintf(name, sizeof name, "f.many/%0200d", i);
    unlink(name);
  }
  rmdir("f.many");
}

// It loses its name while it is open, so its blocks are given back by its last user.
long without_name() {
  const Descriptor file{open("f.file", O_RDWR | O_CREAT, 0640)};
  TRY_CALL(file);
  TRY_CALL(unlink("f.file"));
  TRY_CALL(pwrite(file, bytes, size, 2'000'000));
  return pread(file, bytes, size, 1'990'000);
}

constexpr Operation of_mounting[] = {
    {"mount", mount_disk, unmount_disk},
    {"umount", unmount_it, unmount, false, prepare_disk},
    {"mount of a tmpfs", mount_in_memory, unmount},
};

constexpr Operation of_files[] = {
    {"a file system", synchronise},  // before anything is removed, whose blocks are given back later
    {"a file", create, remove_created},
    {"a mapped file", map_file, remove_created},
    {"names", change_names, remove_names},
    {"attributes", change_attributes, remove_created},
    {"a directory that grows", many_names, remove_many},
    {"a file without a name", without_name, remove_created},
};

}  // namespace

Operations mount_operations() {
  return of_mounting;
}
Operations file_operations() {
  return of_files;
}

}  // namespace failures
