// See internet_socket.h.
#include "net/internet_socket.h"

#include "memory/heap.h"
#include "net/tcp_socket.h"
#include "net/udp_socket.h"

namespace corral::net {

namespace {

constexpr i32 any_number = 0x7fff'ffff;

struct KeptOption {
  int level, number;
  i32 first;  // value
  i32 least, most;
};

constexpr KeptOption options[] = {
    {level_ip, 1, 0, 0, 255},              // IP_TOS
    {level_ip, 2, 64, -1, 255},            // IP_TTL
    {level_ip, 10, 1, 0, 5},               // IP_MTU_DISCOVER
    {level_ip, 11, 0, 0, 1},               // IP_RECVERR
    {level_tcp, 1, 0, 0, 1},               // TCP_NODELAY; see TcpSocket
    {level_tcp, 3, 0, 0, 1},               // TCP_CORK
    {level_tcp, 4, 7200, 1, 32767},        // TCP_KEEPIDLE
    {level_tcp, 5, 75, 1, 32767},          // TCP_KEEPINTVL
    {level_tcp, 6, 9, 1, 127},             // TCP_KEEPCNT
    {level_tcp, 7, 6, 1, 127},             // TCP_SYNCNT
    {level_tcp, 8, 60, -1, any_number},    // TCP_LINGER2
    {level_tcp, 9, 0, 0, any_number},      // TCP_DEFER_ACCEPT
    {level_tcp, 10, 0, 0, any_number},     // TCP_WINDOW_CLAMP
    {level_tcp, 12, 1, 0, any_number},     // TCP_QUICKACK
    {level_tcp, 18, 0, 0, any_number},     // TCP_USER_TIMEOUT
    {level_tcp, 25, -1, -1, any_number},   // TCP_NOTSENT_LOWAT
};

}  // namespace

InternetSocket::InternetSocket(fs::SocketType type) : Socket{fs::SocketFamily::internet, type} {
  static_assert(std::size(options) <= most_kept_options);
  for (unsigned i = 0; i < std::size(options); ++i) kept_[i].store(options[i].first, Order::relaxed);
}

Result<Ref<InternetSocket>> InternetSocket::make(fs::SocketType type) {
  if (type == fs::SocketType::stream) { return Ref<InternetSocket>{Ref<TcpSocket>::adopt(TRY(memory::make<TcpSocket>()))}; }
  return Ref<InternetSocket>{Ref<UdpSocket>::adopt(TRY(memory::make<UdpSocket>()))};
}

Result<unsigned> InternetSocket::place_of(int level, int number) const {
  if (level == level_tcp && type() != fs::SocketType::stream) return Errno::enoprotoopt;
  for (unsigned i = 0; i < std::size(options); ++i) {
    if (options[i].level == level && options[i].number == number) return i;
  }
  return Errno::enoprotoopt;
}

Result<i32> InternetSocket::kept_option(int level, int number) const {
  return kept_[TRY(place_of(level, number))].load(Order::relaxed);
}

Result<void> InternetSocket::keep_option(int level, int number, i32 value) {
  const unsigned place = TRY(place_of(level, number));
  const KeptOption& known = options[place];
  if (known.least == 0 && known.most == 1) value = value != 0 ? 1 : 0;
  if (value < known.least || value > known.most) return Errno::einval;
  kept_[place].store(value, Order::relaxed);
  return {};
}

void InternetSocket::inherit_options(const InternetSocket& from) {
  for (unsigned i = 0; i < std::size(options); ++i) kept_[i].store(from.kept_[i].load(Order::relaxed), Order::relaxed);
  send_limit_.store(from.send_limit(), Order::relaxed);
  receive_limit.store(from.receive_limit.load(Order::relaxed), Order::relaxed);
  least.store(from.least.load(Order::relaxed), Order::relaxed);
  plain_options.store(from.plain_options.load(Order::relaxed), Order::relaxed);
  priority.store(from.priority.load(Order::relaxed), Order::relaxed);
  owner.store(from.owner.load(Order::relaxed), Order::relaxed);
  linger.store(from.linger.load(Order::relaxed), Order::relaxed);
  receive_timeout_ns.store(from.receive_timeout_ns.load(Order::relaxed), Order::relaxed);
  send_timeout_ns.store(from.send_timeout_ns.load(Order::relaxed), Order::relaxed);
}

Errno InternetSocket::take_error() {
  StackGuard guard;
  return std::exchange(error_, Errno{});
}

void InternetSocket::plain_option_set() {
  StackGuard guard;
  apply_options();
}

Result<void> InternetSocket::bind(InternetAddress address) {
  if (!is_own(address.host)) return Errno::eaddrnotavail;
  StackGuard guard;
  if (local_.port != 0) return Errno::einval;
  TRY(bind_locked(address));
  bound_ = address.port != 0;
  return {};
}

fs::Endpoint InternetSocket::name() {
  StackGuard guard;
  return fs::Endpoint::of(local_);
}

}  // namespace corral::net
