// What lies in a socket's queue: bytes, where they come from, and the files that travel with them.
//
// A message is one block of memory for small contents; what does not fit follows in further chunks. Nothing here is locked:
// a message belongs to whoever makes it, then to a queue, then to whoever took it out.
#pragma once

#include "fs/open_file.h"
#include "fs/transfer.h"
#include "lib/intrusive_list.h"
#include "lib/ref.h"
#include "lib/result.h"

namespace corral::fs {

class UnixSocket;

// Who sends, as a receiver may be told (struct ucred).
struct Identity {
  static constexpr u32 nobody = 65534;
  i32 process = 0;
  u32 user = nobody;
  u32 group = nobody;
  bool operator==(const Identity&) const = default;
};

// Files under way from one process to another (SCM_RIGHTS). Sockets among them are counted while they are in a message
// (fs/socket/in_flight.h). Heap.
struct Rights {
  static constexpr u32 most = 253;  // Linux's SCM_MAX_FD
  u32 count = 0;
  OpenFile* files[most];  // references

  static Result<Rights*> make();
  Result<Rights*> copy() const;  // for a look that takes nothing
  ~Rights();
};

struct Message {
  ListLink link;
  u32 size = 0;
  u32 taken = 0;   // bytes that have been received; streams only
  u32 charge = 0;  // what it counts against its sender's buffer
  bool identified = false;  // the receiver may be told who sent it
  Identity identity;
  Rights* rights = nullptr;  // owned
  Ref<UnixSocket> sender;    // datagrams
  struct Chunk {
    Chunk* next = nullptr;
    u32 size = 0;
    u8 bytes[];
  };
  Chunk* chunks = nullptr;  // the bytes behind those that are inline
  u8 bytes[];

  static constexpr u64 largest = 32 << 10;  // that a stream makes at once
  [[nodiscard]] static u64 inline_size();
  // With the next `size` bytes of the transfer. enomem; efault, blocked.
  static Result<Message*> make(Transfer& from, u64 size);
  // Copies bytes from `start` on to the place `at` behind to.done(). efault, blocked.
  Result<void> copy_out(Transfer& to, u64 start, u64 at, u64 count) const;
  static void release(Message* message);  // with the rights; null is allowed. No lock of rank in_flight or above is held.
};

using Messages = IntrusiveList<Message, &Message::link>;

// Releases all of them. Files that end here may be sockets with messages of their own, and so on: that is done one after
// another, not one inside another.
void release_messages(Messages& messages);

}  // namespace corral::fs
