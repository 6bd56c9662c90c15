// See socket_name.h.
#include "fs/socket/socket_name.h"

#include "fs/socket/unix_socket.h"
#include "lib/format.h"
#include "lib/memory_functions.h"
#include "memory/heap.h"

namespace corral::fs {

Result<Ref<SocketName>> SocketName::make(std::string_view text, Ref<Inode> file) {
  Ref<SocketName> name = Ref<SocketName>::adopt(TRY(memory::make<SocketName>()));
  name->size = static_cast<u32>(text.size());
  memcpy(name->text, text.data(), text.size());
  name->file = static_cast<Ref<Inode>&&>(file);
  return name;
}

namespace socket_names {

namespace {

// Files by address, before abstract names by type and text.
struct Key {
  const Inode* file;
  u8 type;
  std::string_view text;
  [[nodiscard]] bool operator<(const Key& other) const {
    if (file != other.file) return file != nullptr && (other.file == nullptr || file < other.file);
    if (file != nullptr) return false;
    return type != other.type ? type < other.type : text < other.text;
  }
};

Key key_of(const UnixSocket& socket) {
  const SocketName& name = *socket.bound_name;
  return {name.file.get(), static_cast<u8>(socket.type()), name.file ? std::string_view{} : name.view()};
}

struct Less {
  bool operator()(const UnixSocket& a, const UnixSocket& b) const { return key_of(a) < key_of(b); }
};

constinit SpinLock lock{Rank::socket_names, "names of sockets"};
constinit RedBlackTree<UnixSocket, &UnixSocket::name_link, Less> bound GUARDED_BY(lock);
constinit IntrusiveList<UnixSocket, &UnixSocket::everyone_link> everyone GUARDED_BY(lock);
constinit u64 sockets GUARDED_BY(lock) = 0;

UnixSocket* find_locked(const Key& key) REQUIRES(lock) {
  UnixSocket* found = bound.first_where([&](const UnixSocket& socket) { return !(key_of(socket) < key); });
  return found != nullptr && !(key < key_of(*found)) ? found : nullptr;
}

}  // namespace

Result<void> bind(UnixSocket& socket, Ref<SocketName> name) {
  LockGuard guard{lock};
  if (socket.bound_name) return Errno::einval;
  if (!name->file && find_locked({nullptr, static_cast<u8>(socket.type()), name->view()}) != nullptr) return Errno::eaddrinuse;
  socket.bound_name = static_cast<Ref<SocketName>&&>(name);
  socket.publish_name();
  bound.insert(socket);
  return {};
}

Result<void> bind_any(UnixSocket& socket) {
  constexpr u32 names = 1u << 20;
  static constinit Atomic<u32> next{0};
  for (u32 i = 0; i < names; ++i) {
    char text[6] = {};
    u32 number = next.fetch_add(1, Order::relaxed) % names;
    for (u32 place = 5; place > 0; --place, number /= 16) text[place] = "0123456789abcdef"[number % 16];
    const Result<void> outcome = bind(socket, TRY(SocketName::make({text, sizeof text}, {})));
    if (outcome.ok() || outcome.error() != Errno::eaddrinuse) return outcome;
  }
  return Errno::eaddrinuse;
}

void enter(UnixSocket& socket) {
  LockGuard guard{lock};
  everyone.push_back(socket);
  ++sockets;
}

void remove(UnixSocket& socket) {
  LockGuard guard{lock};
  if (socket.everyone_link.linked()) {
    everyone.remove(socket);
    --sockets;
  }
  if (socket.name_link.linked()) bound.remove(socket);
}

Result<Ref<UnixSocket>> find(std::string_view abstract, u8 type) {
  LockGuard guard{lock};
  UnixSocket* found = find_locked({nullptr, type, abstract});
  if (found == nullptr || !found->retain_if_alive()) return Errno::econnrefused;
  return Ref<UnixSocket>::adopt(found);
}

Result<Ref<UnixSocket>> find(const Inode& file, u8 type) {
  LockGuard guard{lock};
  UnixSocket* found = find_locked({&file, 0, {}});
  if (found == nullptr) return Errno::econnrefused;
  if (static_cast<u8>(found->type()) != type) return Errno::eprototype;
  if (!found->retain_if_alive()) return Errno::econnrefused;
  return Ref<UnixSocket>::adopt(found);
}

u64 list(std::span<UnixSocket*> to) {
  LockGuard guard{lock};
  if (sockets > to.size()) return sockets;
  u64 count = 0;
  everyone.for_each([&](UnixSocket& socket) {
    if (socket.retain_if_alive()) to[count++] = &socket;
  });
  return count;
}

}  // namespace socket_names

}  // namespace corral::fs
