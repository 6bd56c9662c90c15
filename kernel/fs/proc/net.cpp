// /proc/[pid]/net: tcp, udp, raw, unix and dev. Source: Linux man-pages proc_pid_net(5); widths as Linux prints them.
#include "fs/proc/proc.h"
#include "fs/socket/unix_socket.h"
#include "memory/heap_array.h"
#include "net/socket_table.h"
#include "net/stack.h"

namespace corral::fs::proc {

namespace {

constexpr u64 hidden = 0;  // where the kernel has it is told to nobody

// Each thing that `list` writes down, and no lock held.
template <class T, class Visitor>
Result<void> for_all(u64 (*list)(std::span<T>), Visitor&& visit) {
  constexpr u64 spare = 64;
  for (u64 room = spare;;) {
    memory::HeapArray<T> all;
    TRY(all.allocate(room));
    const u64 count = list(all.all());
    if (count <= room) {
      for (T& each : all.first(count)) visit(each);
      return {};
    }
    room = count + spare;
  }
}

// ---- tcp, udp ----------------------------------------------------------------------------------------------------------

// A line is put together here: in capitals, and then as wide as all.
class Line {
 public:
  template <class... Arguments>
  void add(std::string_view format, const Arguments&... arguments) {
    size_ += format_to(std::span{text_}.subspan(size_), format, arguments...).size();
  }
  [[nodiscard]] std::string_view text() {
    for (char& c : std::span{text_}.first(size_)) {
      if (c >= 'a' && c <= 'f') c = static_cast<char>(c - 'a' + 'A');
    }
    return {text_, size_};
  }

 private:
  char text_[256];
  u64 size_ = 0;
};

constexpr u32 hundredths(u32 ms) {
  return ms / 10;
}

// What tcp and udp have in common. A host is printed as if its bytes were a number of this machine.
void add_socket(Line& line, const net::SocketEntry& socket) {
  const auto host = [](const InternetAddress& address) { return __builtin_bswap32(address.host); };
  line.add(": {X8}:{X4} {X8}:{X4} {X2} {X8}:{X8} {X2}:{X8} {X8} {5} {8} {}", host(socket.local), socket.local.port,
           host(socket.peer), socket.peer.port, static_cast<u8>(socket.state), socket.to_send, socket.to_read,
           static_cast<u8>(socket.timer), hundredths(socket.timer_ms), socket.repeats, socket.owner, 0, socket.file);
}

Result<void> tcp_sockets(TextBuffer& to, const Subject&) {
  to.print("{-149}\n", "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode");
  u64 number = 0;
  return for_all(net::list_tcp, [&](const net::SocketEntry& socket) {
    const bool short_lived =
        socket.state == net::ConnectionState::remembered || socket.state == net::ConnectionState::answering;
    Line line;
    line.add("{4}", number++);
    add_socket(line, socket);
    line.add(" {} {X16}", short_lived ? 3 : 1, hidden);
    if (!short_lived) line.add(" {} 0 0 {} {}", hundredths(socket.repeat_ms), socket.window, socket.threshold);
    to.print("{-149}\n", line.text());
  });
}

Result<void> udp_sockets(TextBuffer& to, const Subject&) {
  to.print(
      "{-127}\n",
      "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops");
  u64 number = 0;
  return for_all(net::list_udp, [&](const net::SocketEntry& socket) {
    Line line;
    line.add("{5}", number++);
    add_socket(line, socket);
    line.add(" 2 {X16} {}", hidden, socket.lost);
    to.print("{-127}\n", line.text());
  });
}

// There are none.
Result<void> raw_sockets(TextBuffer& to, const Subject&) {
  to.append(
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops\n");
  return {};
}

// ---- unix ----------------------------------------------------------------------------------------------------------------

void print_name(TextBuffer& to, const SocketName& name) {
  to.append(" ");
  for (const char& c : name.view()) to.append(c == 0 ? std::string_view{"@"} : std::string_view{&c, 1});
}

Result<void> unix_sockets(TextBuffer& to, const Subject&) {
  constexpr u32 listens = 0x10000, unconnected = 1, connected = 3;
  to.append("Num       RefCount Protocol Flags    Type St Inode Path\n");
  return for_all(socket_names::list, [&](UnixSocket* listed) {
    const Ref<UnixSocket> socket = Ref<UnixSocket>::adopt(listed);
    const bool has_peer = socket->connected();
    to.print("{X16}: {X8} {X8} {X8} {X4} {X2} {5}", hidden, has_peer ? 3 : 2, 0, socket->listening() ? listens : 0,
             static_cast<u8>(socket->type()), has_peer ? connected : unconnected, socket->file_number.load(Order::relaxed));
    if (const Ref<SocketName> name = socket->own_name()) print_name(to, *name);
    to.append("\n");
  });
}

// ---- dev -----------------------------------------------------------------------------------------------------------------

Result<void> devices(TextBuffer& to, const Subject&) {
  to.append(
      "Inter-|   Receive                                                |  Transmit\n"
      " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier "
      "compressed\n");
  const net::Traffic traffic = net::traffic();  // what it receives, it had sent
  to.print("{6}: {7} {7} {4} {4} {4} {5} {10} {9} ", "lo", traffic.bytes, traffic.packets, 0, 0, 0, 0, 0, 0);
  to.print("{8} {7} {4} {4} {4} {5} {7} {10}\n", traffic.bytes, traffic.packets, 0, 0, 0, 0, 0, 0);
  return {};
}

constexpr Node nodes[] = {
    {.name = "dev", .text = devices},     {.name = "raw", .text = raw_sockets},   {.name = "tcp", .text = tcp_sockets},
    {.name = "udp", .text = udp_sockets}, {.name = "unix", .text = unix_sockets},
};

}  // namespace

const constinit GeneratedDirectory net_directory{.nodes = nodes};

Result<void> own_network(TextBuffer& to, const Subject&) {
  to.append("self/net");
  return {};
}

}  // namespace corral::fs::proc
