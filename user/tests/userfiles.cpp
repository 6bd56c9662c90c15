// Files of other users: opening, making, removing and changing them. Is root at first; each part is played by a child that becomes
// somebody else. Gives the same result on Linux.

#include "tests/users.h"

#include <sys/prctl.h>
#include <sys/socket.h>

namespace {

using namespace users;

// ---- files -----------------------------------------------------------------------------------------------------------------

void make(const char* name, unsigned mode, unsigned user, unsigned group) {
  const int file = open(path(name), O_CREAT | O_WRONLY, 0600);
  CHECK(file >= 0);
  CHECK_EQ(fchown(file, user, group), 0);
  CHECK_EQ(fchmod(file, mode), 0);
  CHECK_EQ(close(file), 0);
}

void make_directory(const char* name, unsigned mode, unsigned user, unsigned group) {
  CHECK_EQ(mkdir(path(name), 0700), 0);
  CHECK_EQ(chown(path(name), user, group), 0);
  CHECK_EQ(chmod(path(name), mode), 0);
}

void test_opening() {
  make("own", 0600, alice, alice);
  make("others", 0604, bob, bob);
  make("groups", 0640, bob, staff);
  make("not-for-owner", 0066, alice, alice);
  make_directory("closed", 0700, bob, bob);
  make("closed/inside", 0666, alice, alice);
  in_child([] {
    const gid_t group = staff;
    become(alice, alice, &group);
    CHECK(open(path("own"), O_RDWR) >= 0);
    CHECK(open(path("others"), O_RDONLY) >= 0);
    CHECK_ERRNO(open(path("others"), O_WRONLY), EACCES);
    CHECK_ERRNO(open(path("others"), O_RDONLY | O_TRUNC), EACCES);
    CHECK(open(path("groups"), O_RDONLY) >= 0);
    CHECK_ERRNO(open(path("groups"), O_RDWR), EACCES);
    CHECK_ERRNO(open(path("not-for-owner"), O_RDONLY), EACCES);
    CHECK_ERRNO(open(path("closed/inside"), O_RDONLY), EACCES);
    CHECK_ERRNO(open(path("closed/missing"), O_RDONLY), EACCES);
    CHECK_ERRNO(chdir(path("closed")), EACCES);
    struct stat status;
    CHECK_ERRNO(stat(path("closed/inside"), &status), EACCES);
    CHECK_EQ(stat(path("closed"), &status), 0);
    CHECK_ERRNO(open(path("others"), O_RDONLY | O_NOATIME), EPERM);
    CHECK(open(path("others"), O_PATH) >= 0);
    CHECK_ERRNO(truncate(path("others"), 0), EACCES);
    CHECK_EQ(access(path("others"), R_OK), 0);
    CHECK_ERRNO(access(path("others"), W_OK), EACCES);
    CHECK_ERRNO(access(path("own"), X_OK), EACCES);
    CHECK_ERRNO(open(path("new"), O_CREAT | O_WRONLY, 0600), EACCES);
    CHECK_ERRNO(execl(path("own"), "own", nullptr), EACCES);
  });
  in_child([] {  // access() asks for the real user, who is not root
    CHECK_EQ(setresuid(alice, 0, 0), 0);
    CHECK_ERRNO(access(path("groups"), R_OK), EACCES);
    CHECK_ERRNO(access(path("closed/inside"), F_OK), EACCES);
    CHECK_EQ(faccessat(AT_FDCWD, path("groups"), R_OK, AT_EACCESS), 0);
    CHECK(open(path("closed/inside"), O_RDWR) >= 0);
    CHECK_ERRNO(access(path("others"), X_OK), EACCES);
  });
  in_child([] {  // a capability for reading alone
    CHECK_EQ(set_capabilities({bit(CAP_DAC_READ_SEARCH), bit(CAP_DAC_READ_SEARCH), 0}), 0);
    CHECK(open(path("closed/inside"), O_RDONLY) >= 0);
    CHECK(open(path("groups"), O_RDONLY) >= 0);
    CHECK_ERRNO(open(path("groups"), O_WRONLY), EACCES);
    CHECK_ERRNO(open(path("closed/new"), O_CREAT | O_WRONLY, 0600), EACCES);
  });
}

void check_owner(const char* name, unsigned user, unsigned group, unsigned mode) {
  struct stat status;
  CHECK_EQ(stat(path(name), &status), 0);
  CHECK_EQ(status.st_uid, user);
  CHECK_EQ(status.st_gid, group);
  CHECK_EQ(status.st_mode & 07777, mode);
}

void test_making() {
  umask(022);
  make_directory("open", 0777, 0, 0);
  make_directory("sticky", 01777, 0, 0);
  make_directory("group", 02777, 0, staff);
  make("sticky/of-bob", 0666, bob, bob);
  in_child([] {
    become(alice, alice);
    CHECK(open(path("open/file"), O_CREAT | O_RDWR, 0) >= 0);  // its mode is for the next one who opens it
    CHECK_ERRNO(open(path("open/file"), O_RDONLY), EACCES);
    check_owner("open/file", alice, alice, 0);
    CHECK_EQ(mkdir(path("group/below"), 0755), 0);
    check_owner("group/below", alice, staff, 02755);
    CHECK(open(path("group/file"), O_CREAT | O_RDWR, 02775) >= 0);
    check_owner("group/file", alice, staff, 0755);
    umask(077);  // the right to execute goes, and the bit with it: it is not there when the right is given back
    CHECK(open(path("group/closed"), O_CREAT | O_RDWR, 02775) >= 0);
    check_owner("group/closed", alice, staff, 0700);
    umask(022);
    CHECK_EQ(mkfifo(path("open/fifo"), 0644), 0);
    check_owner("open/fifo", alice, alice, 0644);
    CHECK_ERRNO(mknod(path("open/device"), S_IFCHR | 0666, 0x103), EPERM);
    CHECK_EQ(symlink("file", path("open/link")), 0);

    CHECK_ERRNO(unlink(path("sticky/of-bob")), EPERM);
    CHECK_ERRNO(rename(path("sticky/of-bob"), path("open/taken")), EPERM);
    CHECK_ERRNO(rename(path("open/file"), path("sticky/of-bob")), EPERM);
    CHECK_EQ(rename(path("open/file"), path("sticky/file")), 0);
    CHECK_EQ(unlink(path("sticky/file")), 0);
    CHECK_ERRNO(mkdir(path("closed"), 0700), EEXIST);  // told before that nothing may be made here
    CHECK_ERRNO(mkdir(path("new"), 0700), EACCES);
    CHECK_ERRNO(unlink(path("own")), EACCES);
    CHECK_ERRNO(rmdir(path("open")), EACCES);
    CHECK_ERRNO(link(path("own"), path("link")), EACCES);
  });
}

void test_changing_files() {
  make("mine", 06755, alice, alice);
  make("theirs", 0666, bob, bob);
  in_child([] {
    const gid_t group = staff;
    become(alice, alice, &group);
    CHECK_ERRNO(chmod(path("theirs"), 0600), EPERM);
    CHECK_ERRNO(chown(path("theirs"), alice, static_cast<gid_t>(-1)), EPERM);
    CHECK_ERRNO(chown(path("mine"), bob, static_cast<gid_t>(-1)), EPERM);
    CHECK_ERRNO(chown(path("mine"), static_cast<uid_t>(-1), bob), EPERM);
    CHECK_EQ(chown(path("mine"), alice, staff), 0);
    check_owner("mine", alice, staff, 0755);  // it no longer runs as somebody
    constexpr uid_t same = ~uid_t{0};
    CHECK_EQ(chmod(path("mine"), 06755), 0);
    CHECK_EQ(chown(path("mine"), same, same), 0);
    check_owner("mine", alice, staff, 0755);
    CHECK_EQ(chown(path("theirs"), same, same), 0);
    CHECK_EQ(chmod(path("mine"), 02640), 0);
    check_owner("mine", alice, staff, 02640);
    const timespec times[2] = {{1, 0}, {2, 0}};
    CHECK_EQ(utimensat(AT_FDCWD, path("mine"), times, 0), 0);
    CHECK_ERRNO(utimensat(AT_FDCWD, path("theirs"), times, 0), EPERM);
    CHECK_EQ(utimensat(AT_FDCWD, path("theirs"), nullptr, 0), 0);  // whoever may write it
    CHECK_ERRNO(utimensat(AT_FDCWD, path("closed"), nullptr, 0), EACCES);
    CHECK_ERRNO(chroot("/"), EPERM);
  });
  make("theirs-too", 0644, bob, bob);
  in_child([] {  // in the group of a file only as its owner
    become(alice, alice);
    CHECK_EQ(chmod(path("mine"), 02640), 0);
    check_owner("mine", alice, staff, 0640);
  });
}

// Pipes and sockets without a name belong to whoever made them, and can be given away like other files.
void test_unnamed_files() {
  in_child([] {
    become(alice, staff);
    CHECK_EQ(prctl(PR_SET_DUMPABLE, 1), 0);  // so that its /proc/self/fd is alice's, too
    int pipes[2];
    int sockets[2];
    CHECK_EQ(pipe(pipes), 0);
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
    struct stat status;
    const int all[] = {pipes[0], sockets[0]};
    for (const int file : all) {
      CHECK_EQ(fstat(file, &status), 0);
      CHECK_EQ(status.st_uid, alice);
      CHECK_EQ(status.st_gid, staff);
      CHECK_EQ(status.st_mode, file == pipes[0] ? S_IFIFO | 0600 : S_IFSOCK | 0777);
      CHECK_EQ(fchmod(file, 0640), 0);
      CHECK_EQ(fstat(file, &status), 0);
      CHECK_EQ(status.st_mode & 07777, 0640);
      CHECK_ERRNO(fchown(file, bob, staff), EPERM);
    }
    CHECK_EQ(fstat(pipes[1], &status), 0);  // both ends are one file
    CHECK_EQ(status.st_mode, S_IFIFO | 0640);
    char name[32];
    snprintf(name, sizeof name, "/proc/self/fd/%d", pipes[1]);
    const int again = open(name, O_WRONLY);
    CHECK(again >= 0);
    CHECK_EQ(write(again, "x", 1), 1);
    CHECK_EQ(fchmod(pipes[0], 0400), 0);
    CHECK_ERRNO(open(name, O_WRONLY), EACCES);
  });
  int ends[2];
  CHECK_EQ(pipe(ends), 0);
  CHECK_EQ(fchown(ends[0], bob, staff), 0);
  struct stat status;
  CHECK_EQ(fstat(ends[1], &status), 0);
  CHECK(status.st_uid == bob && status.st_gid == staff);
  CHECK(close(ends[0]) == 0 && close(ends[1]) == 0);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("userfiles", argc, argv);
  begin();
  test_opening();
  test_making();
  test_changing_files();
  test_unnamed_files();
  return end();
}
