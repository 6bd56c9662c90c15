// Pseudo-terminals: opening and naming, both directions, editing and echo, raw reads with VMIN and VTIME, packet mode, hanging up
// from either end, signals typed, window size, and many at once.

#include "tests/signals.h"
#include "tests/terminals.h"

#include <sys/resource.h>
#include <sys/stat.h>

using namespace signals;
using namespace terminals;

namespace {

void test_opening() {
  const int master = open("/dev/ptmx", O_RDWR | O_NOCTTY);
  CHECK(master >= 0);
  unsigned number = 0;
  CHECK_EQ(ioctl(master, TIOCGPTN, &number), 0);
  char name[32];
  snprintf(name, sizeof name, "/dev/pts/%u", number);
  struct stat status{};
  CHECK_EQ(stat(name, &status), 0);
  CHECK(S_ISCHR(status.st_mode));
  CHECK_EQ(status.st_rdev, 136 << 8 | number);
  int locked = 0;
  CHECK_EQ(ioctl(master, TIOCGPTLCK, &locked), 0);
  CHECK_EQ(locked, 1);
  CHECK_ERRNO(open(name, O_RDWR | O_NOCTTY), EIO);
  locked = 0;
  CHECK_EQ(ioctl(master, TIOCSPTLCK, &locked), 0);
  const int slave = open(name, O_RDWR | O_NOCTTY);
  CHECK(slave >= 0);
  CHECK(isatty(slave) && isatty(master));
  CHECK_EQ(fstat(slave, &status), 0);
  CHECK_EQ(status.st_rdev, 136 << 8 | number);
  const int peer = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
  CHECK(peer >= 0);
  CHECK_EQ(fcntl(peer, F_GETFD), FD_CLOEXEC);
  CHECK_ERRNO(ioctl(slave, TIOCGPTN, &number), ENOTTY);
  CHECK_EQ(close(peer), 0);
  CHECK_EQ(close(slave), 0);
  CHECK_EQ(close(master), 0);
  CHECK_ERRNO(stat(name, &status), ENOENT);
}

// Settings that a new one has, and letters that are changed on the way.
void test_new() {
  const Pair pty = open_pair();
  winsize size{1, 1, 1, 1};
  CHECK_EQ(ioctl(pty.slave, TIOCGWINSZ, &size), 0);
  CHECK(size.ws_row == 0 && size.ws_col == 0);
  termios settings{};
  CHECK_EQ(tcgetattr(pty.slave, &settings), 0);
  CHECK_EQ(settings.c_iflag, ICRNL | IXON);
  CHECK_EQ(settings.c_cflag, B38400 | CS8 | CREAD);
  int local = 1;
  CHECK_EQ(ioctl(pty.slave, TIOCGSOFTCAR, &local), 0);
  CHECK_EQ(local, 0);
  local = 1;
  CHECK_EQ(ioctl(pty.slave, TIOCSSOFTCAR, &local), 0);
  CHECK_EQ(tcgetattr(pty.slave, &settings), 0);
  CHECK((settings.c_cflag & CLOCAL) != 0);
  settings.c_iflag = IUCLC;
  settings.c_oflag = OPOST | OLCUC;
  settings.c_lflag = ICANON | IEXTEN;
  CHECK_EQ(tcsetattr(pty.slave, TCSANOW, &settings), 0);
  put(pty.master, "Aa[\xc1\n");
  CHECK(got(pty.slave, "aa[\xe1\n"));
  put(pty.slave, "Aa{\n");
  CHECK(got(pty.master, "AA{\n"));
  settings.c_iflag = PARMRK;
  CHECK_EQ(tcsetattr(pty.slave, TCSANOW, &settings), 0);
  put(pty.master, "A\xff\n");
  CHECK(got(pty.slave, "A\xff\xff\n"));
  CHECK_EQ(close(pty.master), 0);
  settle();
  int waiting = 0;
  CHECK_ERRNO(ioctl(pty.slave, FIONREAD, &waiting), EIO);
  CHECK_EQ(close(pty.slave), 0);
}

void test_lines() {
  const Pair pty = open_pair();
  put(pty.master, "hello\n");
  CHECK(got(pty.slave, "hello\n"));
  CHECK(got(pty.master, "hello\r\n"));  // echo
  put(pty.slave, "one\ntwo");
  CHECK(got(pty.master, "one\r\ntwo"));
  // Editing: erase, word erase, kill, literal next, end of file.
  put(pty.master,
      "abx\x7f"
      "c\n");
  CHECK(got(pty.slave, "abc\n"));
  put(pty.master, "one two\x17three\n");
  CHECK(got(pty.slave, "one three\n"));
  put(pty.master, "gone\x15stays\n");
  CHECK(got(pty.slave, "stays\n"));
  put(pty.master,
      "a\x16\x03"
      "b\n");
  CHECK(got(pty.slave,
            "a\x03"
            "b\n"));
  put(pty.master, "no end\x04");
  CHECK(got(pty.slave, "no end"));
  put(pty.master, "\x04");
  char byte = 0;
  CHECK_EQ(read(pty.slave, &byte, 1), 0);
  // A line is read in pieces, and not beyond its end.
  put(pty.master, "12345\n67\n");
  CHECK(got(pty.slave, "123", 3));
  CHECK(got(pty.slave, "45\n"));
  CHECK(got(pty.slave, "67\n"));
  int ready = -1;
  put(pty.master, "abc\n");
  settle();
  CHECK_EQ(ioctl(pty.slave, FIONREAD, &ready), 0);
  CHECK_EQ(ready, 4);
  CHECK_EQ(ioctl(pty.slave, TCFLSH, TCIFLUSH), 0);
  CHECK_EQ(ioctl(pty.slave, FIONREAD, &ready), 0);
  CHECK_EQ(ready, 0);
  close_pair(pty);
}

void test_settings() {
  const Pair pty = open_pair();
  termios settings{};
  CHECK_EQ(tcgetattr(pty.slave, &settings), 0);
  CHECK((settings.c_lflag & (ICANON | ECHO | ISIG | IEXTEN)) == (ICANON | ECHO | ISIG | IEXTEN));
  settings.c_lflag &= ~static_cast<tcflag_t>(ECHO);
  settings.c_oflag &= ~static_cast<tcflag_t>(OPOST);
  CHECK_EQ(tcsetattr(pty.master, TCSANOW, &settings), 0);  // the same settings
  termios seen{};
  CHECK_EQ(tcgetattr(pty.slave, &seen), 0);
  CHECK_EQ(seen.c_lflag, settings.c_lflag);
  put(pty.master, "quiet\n");
  CHECK(got(pty.slave, "quiet\n"));
  put(pty.slave, "a\nb");
  CHECK(got(pty.master, "a\nb"));
  CHECK_EQ(tcsetattr(pty.slave, TCSADRAIN, &settings), 0);
  CHECK_EQ(tcdrain(pty.slave), 0);
  CHECK_EQ(tcsendbreak(pty.slave, 0), 0);
  put(pty.master, "thrown away\n");
  settle();
  CHECK_EQ(tcsetattr(pty.slave, TCSAFLUSH, &settings), 0);
  put(pty.master, "kept\n");
  CHECK(got(pty.slave, "kept\n"));
  CHECK_ERRNO(ioctl(pty.slave, TCFLSH, 3), EINVAL);
  CHECK_ERRNO(ioctl(pty.slave, TCXONC, 4), EINVAL);
  int discipline = -1;
  CHECK_EQ(ioctl(pty.slave, TIOCGETD, &discipline), 0);
  CHECK_EQ(discipline, 0);
  close_pair(pty);
}

// The form of System V, which some old programs use: what it does not have stays.
void test_old_settings() {
  constexpr unsigned long get = 0x5405, set = 0x5406, set_drained = 0x5407, set_flushed = 0x5408;
  struct {
    uint16_t input, output, control, local;
    uint8_t line, characters[8];
  } old{};
  const Pair pty = open_pair();
  termios settings{};
  CHECK_EQ(tcgetattr(pty.slave, &settings), 0);
  CHECK_EQ(ioctl(pty.slave, get, &old), 0);
  CHECK_EQ(old.input, settings.c_iflag & 0xffff);
  CHECK_EQ(old.output, settings.c_oflag & 0xffff);
  CHECK_EQ(old.control, settings.c_cflag & 0xffff);
  CHECK_EQ(old.local, settings.c_lflag & 0xffff);
  CHECK_EQ(memcmp(old.characters, settings.c_cc, sizeof old.characters), 0);
  const auto before = settings;
  old.local = static_cast<uint16_t>(old.local & ~ECHO);
  old.characters[VINTR] = 'q';
  CHECK_EQ(ioctl(pty.slave, set, &old), 0);
  CHECK_EQ(tcgetattr(pty.slave, &settings), 0);
  CHECK_EQ(settings.c_lflag, before.c_lflag & ~static_cast<tcflag_t>(ECHO));
  CHECK_EQ(settings.c_cflag, before.c_cflag);
  CHECK_EQ(settings.c_cc[VINTR], 'q');
  CHECK_EQ(memcmp(settings.c_cc + 8, before.c_cc + 8, sizeof before.c_cc - 8), 0);
  put(pty.master, "thrown away\n");
  settle();
  CHECK_EQ(ioctl(pty.slave, set_drained, &old), 0);
  CHECK_EQ(ioctl(pty.slave, set_flushed, &old), 0);
  put(pty.master, "kept\n");
  CHECK(got(pty.slave, "kept\n"));
  CHECK_ERRNO(ioctl(pty.slave, set, nullptr), EFAULT);
  close_pair(pty);
}

// Raw reads: POSIX.1-2017, 11.1.7.
void test_raw_reads() {
  const Pair pty = open_pair();
  char bytes[16];
  set_raw(pty.slave, 0, 0);  // whatever is there
  CHECK_EQ(read(pty.slave, bytes, sizeof bytes), 0);
  put(pty.master, "ab");
  settle();
  CHECK(got(pty.slave, "ab"));
  set_raw(pty.slave, 0, 1);  // the first byte, or a tenth of a second
  const int64_t start = check_now_ns();
  CHECK_EQ(read(pty.slave, bytes, sizeof bytes), 0);
  CHECK(check_now_ns() - start >= 90000000);
  put(pty.master, "\x03");  // an ordinary character now
  CHECK(got(pty.slave, "\x03"));
  set_raw(pty.slave, 3, 0);  // three bytes
  const pid_t child = fork();
  if (child == 0) {
    for (const char* c = "xyz"; *c != '\0'; ++c) {
      check_sleep_us(10000);
      put_one(pty.master, *c);
    }
    _exit(0);
  }
  CHECK_EQ(read(pty.slave, bytes, sizeof bytes), 3);
  CHECK(memcmp(bytes, "xyz", 3) == 0);
  CHECK_EQ(waitpid(child, nullptr, 0), child);
  set_raw(pty.slave, 10, 1);  // ten bytes, or a pause after the first
  put(pty.master, "1234");
  settle();
  CHECK(got(pty.slave, "1234"));
  put(pty.master, "123");
  settle();
  CHECK_EQ(read(pty.slave, bytes, 2), 2);  // no more was wanted
  CHECK_EQ(fcntl(pty.slave, F_SETFL, O_NONBLOCK), 0);
  CHECK(got(pty.slave, "3"));
  CHECK_ERRNO(read(pty.slave, bytes, sizeof bytes), EAGAIN);
  close_pair(pty);
}

void test_bulk() {
  const Pair pty = open_pair();
  set_raw(pty.slave, 1, 0);
  constexpr int total = 100000;
  const pid_t child = fork();
  if (child == 0) {  // answers every byte
    close(pty.master);
    char bytes[777];
    for (int done = 0; done < total;) {
      const ssize_t count = read(pty.slave, bytes, sizeof bytes);
      if (count <= 0) { _exit(1); }
      for (ssize_t at = 0; at < count;) {
        const ssize_t written = write(pty.slave, bytes + at, static_cast<size_t>(count - at));
        if (written <= 0) { _exit(2); }
        at += written;
      }
      done += static_cast<int>(count);
    }
    _exit(0);
  }
  const pid_t writer = fork();
  if (writer == 0) {
    char bytes[1000];
    for (int done = 0; done < total;) {
      for (int at = 0; at < 1000; ++at) { bytes[at] = static_cast<char>((done + at) % 251); }
      ssize_t written = 0;
      while (written < 1000) {
        const ssize_t count = write(pty.master, bytes + written, static_cast<size_t>(1000 - written));
        if (count <= 0) { _exit(1); }
        written += count;
      }
      done += 1000;
    }
    _exit(0);
  }
  char bytes[4096];
  int done = 0;
  while (done < total) {
    const ssize_t count = read(pty.master, bytes, sizeof bytes);
    CHECK(count > 0);
    for (ssize_t at = 0; at < count; ++at) {
      if (static_cast<unsigned char>(bytes[at]) != (done + at) % 251) {
        CHECK_EQ(static_cast<unsigned char>(bytes[at]), (done + at) % 251);
      }
    }
    done += static_cast<int>(count);
  }
  CHECK_EQ(done, total);
  for (const pid_t each : Pids{child, writer}) {
    int status = -1;
    CHECK_EQ(waitpid(each, &status, 0), each);
    CHECK_EQ(status, 0);
  }
  close_pair(pty);
}

void test_poll() {
  const Pair pty = open_pair();
  CHECK_EQ(events_of(pty.slave), POLLOUT);
  CHECK_EQ(events_of(pty.master), POLLOUT);
  put(pty.master, "x");
  CHECK_EQ(events_of(pty.slave), POLLOUT);  // not a line yet
  put(pty.master, "\n");
  CHECK_EQ(events_of(pty.slave), POLLIN | POLLOUT);
  CHECK_EQ(events_of(pty.master), POLLIN | POLLOUT);  // the echo
  CHECK(got(pty.master, "x\r\n"));
  put(pty.slave, "left");
  CHECK_EQ(close(pty.slave), 0);
  CHECK_EQ(events_of(pty.master) & (POLLIN | POLLHUP), POLLIN | POLLHUP);
  CHECK(got(pty.master, "left"));
  char byte = 0;
  CHECK_ERRNO(read(pty.master, &byte, 1), EIO);
  CHECK_EQ(write(pty.master, "x", 1), 1);
  CHECK_EQ(events_of(pty.master) & POLLHUP, POLLHUP);
  // It can be opened again.
  const int slave = ioctl(pty.master, TIOCGPTPEER, O_RDWR | O_NOCTTY);
  CHECK(slave >= 0);
  CHECK_EQ(events_of(pty.master) & POLLHUP, 0);
  CHECK_EQ(close(slave), 0);
  CHECK_EQ(close(pty.master), 0);
}

void test_master_hangs_up() {
  const Pair pty = open_pair();
  const pid_t child = fork();
  if (child == 0) {  // waits for input that never comes
    close(pty.master);
    char byte = 0;
    const ssize_t count = read(pty.slave, &byte, 1);
    _exit(count == 0 || (count == -1 && errno == EIO) ? 0 : 1);
  }
  check_sleep_us(20000);
  CHECK_EQ(close(pty.master), 0);
  int status = -1;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
  char byte = 0;
  CHECK_EQ(read(pty.slave, &byte, 1), 0);
  CHECK_ERRNO(write(pty.slave, "x", 1), EIO);
  termios settings{};
  CHECK_ERRNO(ioctl(pty.slave, TCGETS, &settings), EIO);
  CHECK((events_of(pty.slave) & POLLHUP) != 0);
  CHECK_EQ(close(pty.slave), 0);
}

void test_packets() {
  const Pair pty = open_pair();
  int on_off = 1;
  CHECK_EQ(ioctl(pty.master, TIOCPKT, &on_off), 0);
  on_off = 0;
  CHECK_EQ(ioctl(pty.master, TIOCGPKT, &on_off), 0);
  CHECK_EQ(on_off, 1);
  put(pty.slave, "data");
  char bytes[32];
  CHECK_EQ(read(pty.master, bytes, sizeof bytes), 5);
  CHECK(bytes[0] == TIOCPKT_DATA && memcmp(bytes + 1, "data", 4) == 0);
  CHECK_EQ(ioctl(pty.slave, TCFLSH, TCIFLUSH), 0);
  CHECK((events_of(pty.master) & POLLPRI) != 0);
  CHECK_EQ(read(pty.master, bytes, sizeof bytes), 1);
  CHECK_EQ(bytes[0], TIOCPKT_FLUSHREAD);
  CHECK_EQ(ioctl(pty.slave, TCXONC, TCOOFF), 0);
  CHECK_EQ(read(pty.master, bytes, sizeof bytes), 1);
  CHECK_EQ(bytes[0], TIOCPKT_STOP);
  CHECK_EQ(ioctl(pty.slave, TCXONC, TCOON), 0);
  CHECK_EQ(read(pty.master, bytes, sizeof bytes), 1);
  CHECK_EQ(bytes[0], TIOCPKT_START);
  termios settings{};
  CHECK_EQ(tcgetattr(pty.slave, &settings), 0);
  settings.c_iflag &= ~static_cast<tcflag_t>(IXON);
  CHECK_EQ(tcsetattr(pty.slave, TCSANOW, &settings), 0);
  CHECK_EQ(read(pty.master, bytes, sizeof bytes), 1);
  CHECK_EQ(bytes[0], TIOCPKT_NOSTOP);
  settings.c_iflag |= IXON;
  CHECK_EQ(tcsetattr(pty.slave, TCSANOW, &settings), 0);
  CHECK_EQ(read(pty.master, bytes, sizeof bytes), 1);
  CHECK_EQ(bytes[0], TIOCPKT_DOSTOP);
  close_pair(pty);
}

void test_flow() {
  const Pair pty = open_pair();
  put(pty.master, "\x13");  // ^S
  settle();
  CHECK_EQ(fcntl(pty.slave, F_SETFL, O_NONBLOCK), 0);
  CHECK_ERRNO(write(pty.slave, "x", 1), EAGAIN);
  CHECK_EQ(events_of(pty.slave) & POLLOUT, 0);
  put(pty.master, "\x11");  // ^Q
  settle();
  CHECK_EQ(write(pty.slave, "x", 1), 1);
  CHECK(got(pty.master, "x"));
  // Output that nobody reads fills the terminal, and goes on when it is read.
  long filled = 0;
  char bytes[1000];
  memset(bytes, 'f', sizeof bytes);
  for (;;) {
    const ssize_t count = write(pty.slave, bytes, sizeof bytes);
    if (count < 0) { break; }
    filled += count;
    CHECK(filled < 10000000);
  }
  CHECK_EQ(errno, EAGAIN);
  CHECK(filled >= 1000);
  while (filled > 0) {
    const ssize_t count = read(pty.master, bytes, sizeof bytes);
    CHECK(count > 0);
    filled -= count;
  }
  CHECK_EQ(filled, 0);
  CHECK((events_of(pty.slave) & POLLOUT) != 0);
  close_pair(pty);
}

void test_many() {
  constexpr int count = 200;
  rlimit limit{};
  CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = limit.rlim_cur < 1024 ? limit.rlim_max : limit.rlim_cur;
  CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  static Pair pairs[count];
  for (Pair& pty : pairs) { pty = open_pair(); }
  for (int index = 0; index < count; ++index) {
    char text[32];
    snprintf(text, sizeof text, "number %d\n", index);
    put(pairs[index].master, text);
  }
  for (int index = 0; index < count; ++index) {
    char text[32];
    snprintf(text, sizeof text, "number %d\n", index);
    CHECK(got(pairs[index].slave, text));
  }
  for (const Pair& pty : pairs) { close_pair(pty); }
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("ptytest", argc, argv);
  test_opening();
  test_new();
  test_lines();
  test_settings();
  test_old_settings();
  test_raw_reads();
  test_bulk();
  test_poll();
  test_master_hangs_up();
  test_packets();
  test_flow();
  test_many();
  return check_done();
}
