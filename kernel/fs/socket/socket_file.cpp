// See socket_file.h. read and write are receiving and sending without anything beside bytes.
#include "fs/socket/socket_file.h"

#include "fs/anonymous.h"
#include "fs/inode.h"
#include "fs/socket/time_limit.h"
#include "lib/format.h"
#include "memory/heap.h"
#include "net/interface_requests.h"
#include "task/process.h"
#include "task/thread.h"

namespace corral::fs {

namespace {

class SocketInode final : public UnnamedInode {
 public:
  SocketInode() : UnnamedInode{FileType::socket, 0777} {}
  std::string_view label(std::span<char> to) override { return format_to(to, "socket:[{}]", number()); }
};

class SocketFile final : public OpenFile {
 public:
  SocketFile(Ref<Inode> inode, Ref<Socket> socket, u32 flags)
      : OpenFile{static_cast<Ref<Inode>&&>(inode), flags | o_rdwr}, socket_{static_cast<Ref<Socket>&&>(socket)} {}
  ~SocketFile() override { socket_->close(); }

  Result<u64> read(Thread& thread, Transfer& transfer) override {
    if (transfer.size() == 0) return u64{0};
    Receiving receiving;
    receiving.nonblocking = nonblocking();
    receiving.deadline = deadline_at_socket(thread, socket_->receive_timeout_ns);
    return socket_->receive(thread, transfer, receiving);
  }
  Result<u64> write(Thread& thread, Transfer& transfer) override {
    Sending sending;
    sending.nonblocking = nonblocking();
    sending.deadline = deadline_at_socket(thread, socket_->send_timeout_ns);
    sending.identity = sender_identity_of(thread);
    return socket_->send(thread, transfer, sending);
  }
  u32 poll(PollEntry* entry) override { return socket_->poll(entry); }
  [[nodiscard]] bool can_poll() const override { return true; }
  [[nodiscard]] bool can_signal() const override { return true; }
  Result<u64> available() override { return socket_->available(); }
  Result<i64> control(Thread& thread, vm::AddressSpace& space, u32 request, u64 argument) override {
    constexpr u32 bytes_unsent = 0x5411;  // SIOCOUTQ
    if (request != bytes_unsent) { return net::interface_request(thread, *socket_, space, request, VirtualAddress{argument}); }
    TRY(vm::write_user(space, thread.caller, {argument}, static_cast<i32>(TRY(socket_->unsent()))));
    return 0;
  }
  [[nodiscard]] Socket& socket() { return *socket_; }

 private:
  Ref<Socket> socket_;
};

}  // namespace

Result<Ref<OpenFile>> make_socket_file(Ref<Socket> socket, u32 flags) {
  const auto make = [&]() -> Result<Ref<OpenFile>> {
    Ref<Inode> inode = Ref<SocketInode>::adopt(TRY(memory::make<SocketInode>()));
    Ref<OpenFile> file = Ref<SocketFile>::adopt(TRY(memory::make<SocketFile>(inode, socket, flags)));
    const Attributes attributes = inode->attributes();
    socket->owner.store(attributes.user, Order::relaxed);
    socket->file_number.store(attributes.inode, Order::relaxed);
    if (socket->family() == SocketFamily::unix) socket_names::enter(static_cast<UnixSocket&>(*socket));
    return file;
  };
  Result<Ref<OpenFile>> file = make();
  if (!file.ok()) socket->close();
  return file;
}

Socket* socket_of(OpenFile& file) {
  // Sockets with a name in a directory cannot be opened, except as a name only (O_PATH).
  if (file.inode().type() != FileType::socket || (file.flags() & o_path) != 0) return nullptr;
  return &static_cast<SocketFile&>(file).socket();
}

UnixSocket* unix_socket_of(OpenFile& file) {
  Socket* const socket = socket_of(file);
  return socket != nullptr && socket->family() == SocketFamily::unix ? static_cast<UnixSocket*>(socket) : nullptr;
}

Identity identity_of(const Thread& thread) {
  const Credentials& own = thread.credentials();
  return {thread.process().id().value, own.user.effective, own.group.effective};
}

Identity sender_identity_of(const Thread& thread) {
  const Credentials& own = thread.credentials();
  return {thread.process().id().value, own.user.real, own.group.real};
}

}  // namespace corral::fs
