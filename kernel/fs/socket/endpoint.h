// Where a socket is found: a UNIX name, or an Internet address and port.
#pragma once

#include "fs/socket/socket_name.h"

namespace corral::fs {

enum class SocketFamily : u16 { unspecified = 0, unix = 1, internet = 2 };  // the numbers are the calls'

struct InternetAddress {
  u32 host = 0;  // a number: 127.0.0.1 is 0x7f00'0001
  u16 port = 0;
  bool operator==(const InternetAddress&) const = default;
};

struct Endpoint {
  SocketFamily family = SocketFamily::unspecified;  // unspecified: not told
  Ref<SocketName> name;  // unix; null: it has none
  InternetAddress address;  // internet

  static Endpoint of(Ref<SocketName> name) { return {SocketFamily::unix, static_cast<Ref<SocketName>&&>(name), {}}; }
  static Endpoint of(InternetAddress address) { return {SocketFamily::internet, {}, address}; }
};

}  // namespace corral::fs
