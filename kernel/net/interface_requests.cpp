// See interface_requests.h.
#include "net/interface_requests.h"

#include <string_view>

#include "lib/memory_functions.h"
#include "net/stack.h"
#include "task/thread.h"

namespace corral::net {

namespace {

enum Request : u32 {  // the calls' numbers
  at_mark = 0x8905,
  get_name = 0x8910,
  get_list = 0x8912,
  get_flags = 0x8913,
  set_flags = 0x8914,
  get_address = 0x8915,
  set_own_address = 0x8916,
  get_peer_address = 0x8917,
  get_broadcast_address = 0x8919,
  get_mask = 0x891b,
  set_mask = 0x891c,
  get_metric = 0x891d,
  get_mtu = 0x8921,
  get_hardware_address = 0x8927,
  get_index = 0x8933,
  get_queue_length = 0x8942,
  get_memory_map = 0x8970,
};

constexpr std::string_view only_interface = "lo";
constexpr i32 only_index = 1;

struct InterfaceRequest {  // struct ifreq
  char name[16];
  union {
    u8 bytes[24];
    u16 half;
    i32 number;
    struct {
      u16 family, port;
      u32 host;  // as it travels
    } address;
  };
};
static_assert(sizeof(InterfaceRequest) == 40);

struct InterfaceList {  // struct ifconf
  i32 size;
  u32 padding;
  u64 place;
};

void set_address(InterfaceRequest& told, u32 host) {
  told.address = {static_cast<u16>(fs::SocketFamily::internet), 0, __builtin_bswap32(host)};
}

Result<i64> list_interfaces(vm::AddressSpace& space, vm::Caller& caller, VirtualAddress argument) {
  auto list = TRY(vm::read_user<InterfaceList>(space, caller, argument));
  InterfaceRequest only = {};
  memcpy(only.name, only_interface.data(), only_interface.size());
  set_address(only, loopback_host);
  const bool fits = list.size >= static_cast<i32>(sizeof only);
  if (list.place != 0 && fits) TRY(vm::write_user(space, caller, {list.place}, only));
  list.size = list.place == 0 || fits ? static_cast<i32>(sizeof only) : 0;
  TRY(vm::write_user(space, caller, argument, list));
  return 0;
}

// Into what follows the name. False: no such request.
bool answer(u32 request, bool internet, InterfaceRequest& told) {
  constexpr u16 up = 1, loopback = 8, running = 0x40, loopback_hardware = 772;
  constexpr i32 largest_packet = 65535, queue_length = 1000;
  constexpr u32 mask = 0xff00'0000;
  memset(told.bytes, 0, sizeof told.bytes);
  switch (request) {
    case get_flags: told.half = up | loopback | running; return true;
    case get_metric:
    case get_memory_map: return true;
    case get_mtu: told.number = largest_packet; return true;
    case get_hardware_address: told.half = loopback_hardware; return true;
    case get_index: told.number = only_index; return true;
    case get_queue_length: told.number = queue_length; return true;
    default: break;
  }
  if (!internet) return false;
  switch (request) {
    case get_address:
    case get_peer_address: set_address(told, loopback_host); return true;
    case get_broadcast_address: set_address(told, any_host); return true;
    case get_mask: set_address(told, mask); return true;
    default: return false;
  }
}

bool is_known(u32 request, bool internet) {
  InterfaceRequest nobody;
  return request == get_name || answer(request, internet, nobody);
}

// 0: no request that sets anything. Else the one that gets the same.
u32 getter_of(u32 request, bool internet) {
  if (request == set_flags) return get_flags;
  if (!internet) return 0;
  return request == set_own_address ? get_address : request == set_mask ? get_mask : 0;
}

Result<void> set(Thread& thread, u32 getter, const InterfaceRequest& wanted) {
  if (!thread.credentials().may(Capability::net_admin)) return Errno::eperm;
  InterfaceRequest present = wanted;
  (void)answer(getter, true, present);
  const bool same = getter == get_flags ? (wanted.half & 1) != 0 : wanted.address.host == present.address.host;
  if (!same) return Errno::eopnotsupp;
  return {};
}

}  // namespace

Result<i64> interface_request(Thread& thread, const fs::Socket& socket, vm::AddressSpace& space, u32 request,
                              VirtualAddress argument) {
  vm::Caller& caller = thread.caller;
  const bool internet = socket.family() == fs::SocketFamily::internet;
  if (request == get_list) return list_interfaces(space, caller, argument);
  if (request == at_mark && internet && socket.connection_based()) {
    TRY(vm::write_user(space, caller, argument, i32{0}));
    return 0;
  }
  const u32 getter = getter_of(request, internet);
  if (getter == 0 && !is_known(request, internet)) return Errno::enotty;
  auto asked = TRY(vm::read_user<InterfaceRequest>(space, caller, argument));
  if (request == get_name) {
    if (asked.number != only_index) return Errno::enodev;
    memset(asked.name, 0, sizeof asked.name);
    memcpy(asked.name, only_interface.data(), only_interface.size());
  } else {
    asked.name[sizeof asked.name - 1] = 0;
    if (std::string_view{asked.name} != only_interface) return Errno::enodev;
    if (getter != 0) {
      TRY(set(thread, getter, asked));
      return 0;
    }
    (void)answer(request, internet, asked);
  }
  TRY(vm::write_user(space, caller, argument, asked));
  return 0;
}

}  // namespace corral::net
