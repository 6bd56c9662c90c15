// See message.h.
#include "fs/socket/message.h"

#include "arch/processor.h"
#include "fs/inode.h"
#include "fs/socket/in_flight.h"
#include "fs/socket/unix_socket.h"
#include "memory/heap.h"

namespace corral::fs {

namespace {

constexpr u64 chunk_room = page_size - sizeof(Message::Chunk);

// What a core is about to release: only that core touches its entry, between two of its steps nothing is left.
struct Disposal {
  Messages waiting;
  bool under_way = false;
};
constinit Disposal disposals[max_cores];

}  // namespace

Result<Rights*> Rights::make() {
  return memory::make<Rights>();
}

Result<Rights*> Rights::copy() const {
  Rights* rights = TRY(make());
  for (u32 i = 0; i < count; ++i) {
    files[i]->retain();
    rights->files[i] = files[i];
  }
  rights->count = count;
  return rights;
}

Rights::~Rights() {
  for (u32 i = 0; i < count; ++i) files[i]->drop();
}

u64 Message::inline_size() {
  return page_size - sizeof(Message);
}

Result<Message*> Message::make(Transfer& from, u64 size) {
  const u64 first = smaller(size, inline_size());
  void* storage = memory::allocate(sizeof(Message) + first);
  if (storage == nullptr) return Errno::enomem;
  auto* message = ::new (storage) Message();
  message->size = static_cast<u32>(size);
  Result<void> filled = from.get(0, message->bytes, first);
  Chunk** end = &message->chunks;
  for (u64 done = first; filled.ok() && done < size;) {
    const u64 now = smaller(size - done, chunk_room);
    void* room = memory::allocate(sizeof(Chunk) + now);
    if (room == nullptr) {
      filled = Errno::enomem;
      break;
    }
    auto* chunk = ::new (room) Chunk();
    chunk->size = static_cast<u32>(now);
    *end = chunk;
    end = &chunk->next;
    filled = from.get(done, chunk->bytes, now);
    done += now;
  }
  if (!filled.ok()) {
    release(message);
    return filled.error();
  }
  return message;
}

Result<void> Message::copy_out(Transfer& to, u64 start, u64 at, u64 count) const {
  u64 begins = smaller(size, inline_size());
  if (start < begins) {
    const u64 now = smaller(count, begins - start);
    TRY(to.put(at, bytes + start, now));
    start += now;
    at += now;
    count -= now;
  }
  for (const Chunk* chunk = chunks; count > 0; chunk = chunk->next) {
    if (start < begins + chunk->size) {
      const u64 now = smaller(count, begins + chunk->size - start);
      TRY(to.put(at, chunk->bytes + (start - begins), now));
      start += now;
      at += now;
      count -= now;
    }
    begins += chunk->size;
  }
  return {};
}

void Message::release(Message* message) {
  if (message == nullptr) return;
  while (Chunk* chunk = message->chunks) {
    message->chunks = chunk->next;
    memory::release(chunk);
  }
  delete message->rights;
  message->~Message();
  memory::release(message);
}

void release_messages(Messages& messages) {
  Disposal& disposal = disposals[arch::core_index()];
  while (Message* message = messages.pop_front()) {
    if (message->rights != nullptr) in_flight::remove(*message->rights);
    disposal.waiting.push_back(*message);
  }
  if (disposal.under_way) return;  // further up on this stack
  disposal.under_way = true;
  while (Message* message = disposal.waiting.pop_front()) Message::release(message);
  disposal.under_way = false;
}

}  // namespace corral::fs
