// Pipes, sockets, terminals, System V's and POSIX's queues. See operation.h.
#include "probes/failures/operation.h"

#include <fcntl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>

namespace failures {
namespace {

char bytes[20000];

// Two descriptors that are closed in the end.
struct Ends {
  int number[2] = {-1, -1};
  ~Ends() { const Descriptor first{number[0]}, second{number[1]}; }
};

long use_pipe() {
  Ends ends;
  TRY_CALL(pipe2(ends.number, O_NONBLOCK));
  TRY_CALL(write(ends.number[1], bytes, sizeof bytes));
  TRY_CALL(fcntl(ends.number[1], F_SETPIPE_SZ, 1 << 18));
  return read(ends.number[0], bytes, sizeof bytes);
}

long move_through_pipes() {
  Ends first, second;
  TRY_CALL(pipe2(first.number, O_NONBLOCK));
  TRY_CALL(pipe2(second.number, O_NONBLOCK));
  const iovec vector = {bytes, sizeof bytes};
  TRY_CALL(vmsplice(first.number[1], &vector, 1, 0));
  TRY_CALL(tee(first.number[0], second.number[1], 5000, 0));
  TRY_CALL(splice(first.number[0], nullptr, second.number[1], nullptr, 5000, 0));
  const Descriptor program{open("/proc/self/exe", O_RDONLY)};
  TRY_CALL(program);
  return sendfile(second.number[1], program, nullptr, 5000);
}

long send_through(int type) {
  Ends ends;
  TRY_CALL(socketpair(AF_UNIX, type | SOCK_NONBLOCK, 0, ends.number));
  for (int i = 0; i < 3; ++i) TRY_CALL(send(ends.number[0], bytes, 3000, 0));
  return recv(ends.number[1], bytes, sizeof bytes, 0);
}
long stream() {
  return send_through(SOCK_STREAM);
}
long datagrams() {
  return send_through(SOCK_DGRAM);
}

long send_descriptors() {
  Ends ends;
  TRY_CALL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.number));
  alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = {};
  iovec vector = {bytes, 1};
  msghdr message = {};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(2 * sizeof(int));
  memcpy(CMSG_DATA(header), ends.number, 2 * sizeof(int));
  TRY_CALL(sendmsg(ends.number[0], &message, 0));
  TRY_CALL(sendmsg(ends.number[0], &message, 0));  // one stays where it is
  return recvmsg(ends.number[1], &message, 0);
}

long connect_by_name() {
  sockaddr_un name = {};
  name.sun_family = AF_UNIX;
  strcpy(name.sun_path, "failures.socket");
  const auto* address = reinterpret_cast<const sockaddr*>(&name);
  const Descriptor server{socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0)};
  TRY_CALL(server);
  TRY_CALL(bind(server, address, sizeof name));
  TRY_CALL(listen(server, 4));
  const Descriptor client{socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0)};
  TRY_CALL(client);
  TRY_CALL(connect(client, address, sizeof name));
  TRY_CALL(send(client, bytes, 5000, 0));
  const Descriptor accepted{accept(server, nullptr, nullptr)};
  TRY_CALL(accepted);
  return recv(accepted, bytes, sizeof bytes, 0);
}
void remove_name() {
  unlink("failures.socket");
}

// A socket that lies about nothing when it ends: no connection is remembered.
struct Internet {
  Descriptor number;
  explicit Internet(int made) : number{made} {
    const linger at_once = {1, 0};
    if (made >= 0) { (void)setsockopt(made, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once); }
  }
};

// Binds `socket` to a port of 127.0.0.1 and says where.
long bind_somewhere(int socket, sockaddr_in& name) {
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof name;
  TRY_CALL(bind(socket, reinterpret_cast<const sockaddr*>(&name), size));
  return getsockname(socket, reinterpret_cast<sockaddr*>(&name), &size);
}

// A packet that is lost for want of memory is sent again after three seconds; a connection of which one side has gone ends then.
constexpr long sent_again_us = 8'000'000;

long connect_by_port() {
  sockaddr_in name = {};
  const Internet server{socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0)};
  TRY_CALL(server.number);
  TRY_CALL(bind_somewhere(server.number, name));
  TRY_CALL(listen(server.number, 4));
  const Internet client{socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0)};
  TRY_CALL(client.number);
  if (connect(client.number, reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0 && errno != EINPROGRESS) { return -1; }
  if (send(client.number, bytes, 5000, 0) == -1) {
    if (errno == ECONNRESET) errno = ENOMEM;  // who listens has none for the connection
    return -1;
  }
  TRY_CALL(send(client.number, bytes, 10, 0));
  const Internet accepted{accept(server.number, nullptr, nullptr)};
  TRY_CALL(accepted.number);
  TRY_CALL(send(accepted.number, bytes, sizeof bytes, 0));
  return recv(accepted.number, bytes, sizeof bytes, 0);
}

long datagram_by_port() {
  sockaddr_in name = {};
  const Descriptor server{socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0)};
  TRY_CALL(server);
  TRY_CALL(bind_somewhere(server, name));
  const Descriptor client{socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0)};
  TRY_CALL(client);
  TRY_CALL(connect(client, reinterpret_cast<const sockaddr*>(&name), sizeof name));
  TRY_CALL(send(client, bytes, 3000, 0));
  return recv(server, bytes, sizeof bytes, 0);
}

long terminal() {
  const Descriptor controller{posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK)};
  TRY_CALL(controller);
  TRY_CALL(grantpt(controller));
  TRY_CALL(unlockpt(controller));
  char name[64];
  if (const int error = ptsname_r(controller, name, sizeof name); error != 0) return from_error(error);
  const Descriptor terminal{open(name, O_RDWR | O_NOCTTY | O_NONBLOCK)};
  TRY_CALL(terminal);
  TRY_CALL(write(terminal, "some\n", 5));
  TRY_CALL(write(controller, "words\n", 6));
  return read(terminal, bytes, 10);
}

long semaphores() {
  const int id = semget(IPC_PRIVATE, 10, IPC_CREAT | 0600);
  TRY_CALL(id);
  sembuf operation = {3, 1, SEM_UNDO};
  const long answer = semop(id, &operation, 1);
  const int error = errno;
  CHECK_EQ(semctl(id, 0, IPC_RMID), 0);
  errno = error;
  return answer;
}

long words_at_once() {
  constexpr long futex_waitv = 449;
  unsigned word = 1;
  struct {
    unsigned long expected;
    unsigned* address;
    unsigned flags, reserved;
  } words[3] = {{1, &word, 2, 0}, {1, &word, 130, 0}, {1, &word, 130, 0}};
  const timespec passed = {0, 0};
  const long answer = syscall(futex_waitv, words, 3, 0, &passed, CLOCK_MONOTONIC);
  return answer == -1 && errno == ETIMEDOUT ? 0 : answer;
}

long messages() {
  struct {
    long type;
    char text[6000];
  } message = {1, ""};
  const int id = msgget(IPC_PRIVATE, IPC_CREAT | 0600);
  TRY_CALL(id);
  const long answer = msgsnd(id, &message, sizeof message.text, IPC_NOWAIT);
  const int error = errno;
  CHECK_EQ(msgctl(id, IPC_RMID, nullptr), 0);
  errno = error;
  return answer;
}

long queue() {
  mq_attr attributes = {};
  attributes.mq_maxmsg = 8;
  attributes.mq_msgsize = 2000;
  const Descriptor queue{mq_open("/failures", O_RDWR | O_CREAT | O_NONBLOCK, 0600, &attributes)};
  TRY_CALL(queue);
  for (unsigned i = 0; i < 4; ++i) TRY_CALL(mq_send(queue, bytes, 1500, i));
  return mq_receive(queue, bytes, sizeof bytes, nullptr);
}
void remove_queue() {
  mq_unlink("/failures");
}

constexpr Operation operations[] = {
    {"pipe", use_pipe},
    {"splice, tee, sendfile", move_through_pipes},
    {"socketpair of a stream", stream},
    {"socketpair of datagrams", datagrams},
    {"descriptors in messages", send_descriptors},
    {"connect", connect_by_name, remove_name},
    {"connect to a port", connect_by_port, nullptr, false, nullptr, sent_again_us},
    {"datagram to a port", datagram_by_port},
    {"pseudo-terminal", terminal},
    {"semget", semaphores},
    {"futex_waitv", words_at_once},
    {"msgget", messages},
    {"mq_open", queue, remove_queue},
};

}  // namespace

Operations message_operations() {
  return operations;
}

}  // namespace failures
