// What ioctl tells of the machine's only network interface, the loopback. Source: Linux man-pages netdevice(7).
// Context: a step of the thread whose memory `space` is.
#pragma once

#include "fs/socket/socket.h"
#include "vm/address_space.h"

namespace corral::net {

// SIOCGIF…, on sockets of any family; addresses are told on Internet ones alone. SIOCSIF…: what is as it is may be set, by who has
// the right. SIOCATMARK: there are no urgent data. enotty: no such request; enodev: no such interface; eperm, eopnotsupp: nothing
// can be changed; efault, blocked.
Result<i64> interface_request(Thread& thread, const fs::Socket& socket, vm::AddressSpace& space, u32 request,
                              VirtualAddress argument);

}  // namespace corral::net
