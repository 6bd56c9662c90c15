// What travels beside the bytes of sendmsg and recvmsg: files and credentials. Source: Linux man-pages cmsg(3), unix(7).
#pragma once

#include "abi/linux/socket_address.h"

namespace corral::abi {

struct MessageHeader {  // struct msghdr
  u64 name;
  u32 name_size, padding;
  u64 pieces, piece_count;
  u64 control, control_size;
  i32 flags;
  u32 more_padding;
};
static_assert(sizeof(MessageHeader) == 56);

// Takes in what the program sends along: into sending.rights (the caller's to delete) and sending.identity.
// einval, ebadf, esrch, efault, blocked.
Result<void> take_control(Call& call, const MessageHeader& header, fs::Sending& sending);

// Gives the program what was received; header.control and control_size move behind it. What has no room is let go of, and said
// (MSG_CTRUNC in header.flags). `prepared`: the control memory can be written without waiting.
void give_control(Call& call, MessageHeader& header, fs::Socket& socket, fs::Receiving& receiving, bool close_on_exec);
// Makes the control memory ready, as far as anything will be written there. blocked.
Result<void> prepare_control(Call& call, MessageHeader& header);

inline constexpr i32 message_control_truncated = 8;

}  // namespace corral::abi
