// Calls about open files.
#include "probes/errno/table.h"

#include "tests/check.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <termios.h>

namespace errnotest {

namespace {

char bytes[4096];
const iovec vectors[2] = {{bytes, 8}, {bytes + 8, 8}};
const iovec too_long[2] = {{bytes, 8}, {bytes, static_cast<size_t>(-1)}};
const iovec overflow[2] = {{bytes, static_cast<size_t>(-1) >> 1}, {bytes, static_cast<size_t>(-1) >> 1}};
const struct flock lock = {F_WRLCK, SEEK_SET, 0, 1, 0};
const struct flock bad_lock = {77, SEEK_SET, 0, 1, 0};
const struct flock bad_whence = {F_WRLCK, 7, 0, 1, 0};
const struct flock bad_start = {F_WRLCK, SEEK_SET, -5, 1, 0};

Argument count_of_vectors() {
  return choice(2, 0, -1, 1024, 1025, 1L << 31, 1L << 32);
}

void add_transfers(Table& table) {
  for (const int good : {fd_file, fd_pipe_end, fd_socket, fd_event}) {
    table.add(SYS_read, "read", fd(good), out(), length(16));
  }
  for (const int good : {fd_file, fd_pipe_begin, fd_socket, fd_null}) {
    table.add(SYS_write, "write", fd(good), in(bytes), choice(16, 0, 1, -1, LONG_MIN, 1L << 32));
  }
  table.add(SYS_pread64, "pread64", fd(fd_file), out(), length(16), offset(0));
  table.add(SYS_pwrite64, "pwrite64", fd(fd_file), in(bytes), choice(16, 0, -1, LONG_MIN), choice(0, -1, LONG_MIN, LONG_MAX))
      .changes = true;
  for (const iovec* good : {vectors, too_long, overflow}) {
    table.add(SYS_readv, "readv", fd(fd_file), in(good), count_of_vectors());
    table.add(SYS_writev, "writev", fd(fd_file), in(good), count_of_vectors()).changes = true;
    table.add(SYS_preadv, "preadv", fd(fd_file), in(good), count_of_vectors(), offset(0), same(0));
    table.add(SYS_pwritev, "pwritev", fd(fd_file), in(good), count_of_vectors(), choice(0, -1, LONG_MIN), same(0)).changes =
        true;
  }
  table.add(SYS_preadv2, "preadv2", fd(fd_file), in(vectors), count_of_vectors(), offset(0), same(0), bits(0));
  table
      .add(SYS_pwritev2, "pwritev2", fd(fd_file), in(vectors), count_of_vectors(), choice(0, -1, -2, LONG_MIN), same(0),
           bits(0))
      .changes = true;
  table.add(SYS_sendfile, "sendfile", fd(fd_pipe_begin), fd(fd_reading), out_or_null(), choice(4, 0, -1, LONG_MIN));
  table
      .add(SYS_copy_file_range, "copy_file_range", fd(fd_reading), out_or_null(), fd(fd_file), out_or_null(),
           choice(4, 0, -1, LONG_MIN), bits(0))
      .changes = true;
  table.add(SYS_getdents64, "getdents64", fd(fd_directory), out(), choice(4096, 0, 1, 23, 24, -1, 1L << 32));
  table.add(SYS_readahead, "readahead", fd(fd_reading), offset(0), choice(16, 0, -1));
}

void add_positions(Table& table) {
  table.add(SYS_lseek, "lseek", fd(fd_file), offset(0), choice(SEEK_SET, 1, 2, 3, 4, 5, -1, 1L << 32));
  table.add(SYS_ftruncate, "ftruncate", fd(fd_file), choice(0, -1, LONG_MIN, 4096)).changes = true;
  table.add(SYS_fallocate, "fallocate", fd(fd_file), bits(0), choice(0, -1, LONG_MIN, LONG_MAX), choice(16, 0, -1, LONG_MAX))
      .changes = true;
  table.add(SYS_fsync, "fsync", fd(fd_file));
  table.add(SYS_fdatasync, "fdatasync", fd(fd_file));
  table.add(SYS_syncfs, "syncfs", fd(fd_file));
  table.add(SYS_sync_file_range, "sync_file_range", fd(fd_file), offset(0), offset(0), bits(0));
  table.add(SYS_fadvise64, "fadvise64", fd(fd_file), offset(0), offset(0), choice(0, 1, 2, 3, 4, 5, 6, 7, -1));
}

void add_descriptors(Table& table) {
  table.add(SYS_close, "close", fd(99));
  table.add(SYS_close_range, "close_range", choice(200, 0xffffffff, -1), choice(300, 100, -1, 0xffffffff), bits(0));
  table.add(SYS_dup, "dup", fd(fd_file));
  table.add(SYS_dup2, "dup2", fd(fd_file), choice(90, -1, 1023, 1024, 1048576, INT32_MAX, INT32_MIN));
  table.add(SYS_dup3, "dup3", fd(fd_file), choice(90, -1, fd_file, 1023, 1024, INT32_MAX), bits(0));
  table.add(SYS_flock, "flock", fd(fd_file), choice(LOCK_UN, 0, 1 | 4, 2 | 4, 4, 12, 1 | 2 | 4, 3, 16, 32 | 1, 64, 128, -1));
  table.add(SYS_pipe, "pipe", out());
  table.add(SYS_pipe2, "pipe2", out(), bits(0));
}

void add_fcntl(Table& table) {
  for (const long command : {0L,  1L,    2L,    3L,    4L,    9L,    11L,   12L,   13L,   14L,   15L,   16L,   17L, 18L,
                             99L, 1024L, 1025L, 1026L, 1028L, 1029L, 1030L, 1032L, 1035L, 1036L, 1037L, 1038L, -1L}) {
    table.add(SYS_fcntl, "fcntl", fd(fd_file), choice(command), choice(0, -1, 1, 3, 1024, INT32_MAX, 1L << 32));
  }
  table.add(SYS_fcntl, "fcntl SETPIPE_SZ", fd(fd_pipe_begin), same(F_SETPIPE_SZ), choice(65536, 0, 1, -1, 1L << 31, 1L << 32));
  for (const long command : {F_GETLK, F_SETLK, 36, 37}) {
    table.add(SYS_fcntl, "fcntl lock", fd(fd_file), same(command), in(&lock));
    table.add(SYS_fcntl, "fcntl bad lock", fd(fd_file), same(command), in(&bad_lock));
    table.add(SYS_fcntl, "fcntl bad whence", fd(fd_file), same(command), in(&bad_whence));
    table.add(SYS_fcntl, "fcntl bad start", fd(fd_file), same(command), in(&bad_start));
  }
}

void add_ioctl(Table& table) {
  for (const long request :
       {static_cast<long>(FIONREAD), static_cast<long>(FIONBIO), static_cast<long>(TCGETS), static_cast<long>(TIOCGWINSZ),
        static_cast<long>(TIOCGPGRP), 0L, -1L, 0x1234L, static_cast<long>(FIOASYNC)}) {
    table.add(SYS_ioctl, "ioctl", fd(fd_pipe_end), choice(request, request | (1L << 32)), out());
  }
  table.add(SYS_ioctl, "ioctl FIOCLEX", fd(fd_file), same(FIOCLEX), same(0));
}

}  // namespace

void add_file_rows(Table& table) {
  add_transfers(table);
  add_positions(table);
  add_descriptors(table);
  add_fcntl(table);
  add_ioctl(table);
}

}  // namespace errnotest
