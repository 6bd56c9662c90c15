// See server.h.
#include "fs/nine/server.h"

#include "core/core.h"
#include "fs/cache/cached_page.h"
#include "memory/heap.h"
#include "trace/log.h"

namespace corral::fs::nine {

namespace {

constexpr u32 most_servers = 8;
constexpr u64 feature_mount_tag = 1;
constexpr u16 last_tag_of_all = 0xffff;

constinit SpinLock servers_lock{Rank::files, "9P servers"};
constinit Server* servers[most_servers] GUARDED_BY(servers_lock) = {};
constinit u32 server_count GUARDED_BY(servers_lock) = 0;
constinit bool looked GUARDED_BY(servers_lock) = false;

// Errors are numbered as Linux's own.
Errno error_of(u32 code) {
  constexpr u32 largest = 133;
  return code <= largest ? static_cast<Errno>(code) : Errno::eio;
}

class GreetTalk final : public Conversation {
 public:
  explicit GreetTalk(Server& server) : Conversation{server} {}

 private:
  Result<void> talk(Waiter& waiter) override;
};

Result<void> GreetTalk::talk(Waiter& waiter) {
  Decoder version = TRY(ask(waiter, Type::version, [&](Encoder& to) {
    to.word32(wanted_message_size);
    to.text("9P2000.L");
  }));
  const u32 size = version.word32();
  if (version.text() != "9P2000.L" || version.bad()) return Errno::eio;
  if (size < PageRun::most_pages * page_size + data_header || size > wanted_message_size) return Errno::eio;
  return {};
}

}  // namespace

Result<Server*> Server::find(std::string_view tag) {
  LockGuard guard{servers_lock};
  for (u32 i = 0; !looked; ++i) {
    auto* device = devices().find<pci::PciDevice>(i);
    if (device == nullptr) {
      looked = true;
      break;
    }
    if (virtio::kind_of(device->function()) != static_cast<u16>(virtio::DeviceKind::file_system_9p)) continue;
    if (server_count == most_servers || !device->claim()) continue;
    Server* server = TRY(memory::make<Server>(*device));
    // Devices of this kind are used by few cores at a time: interrupts are spread over the cores by device.
    CoreId core{server_count % cores::count()};
    if (!cores::get(core).running()) core = CoreId{0};
    const Result<void> started = server->queue_.start("virtio-9p", feature_mount_tag, cores::get(core).hardware_id());
    if (!started.ok()) {
      log::warning("{}: this 9P server does not start (error {})", device->name(), started.error());
      continue;
    }
    virtio::PciTransport& transport = server->queue_.transport();
    const u64 size = transport.config(0, 2);
    server->tag_size_ = static_cast<u32>(smaller(size, longest_tag));
    for (u32 j = 0; j < server->tag_size_; ++j) server->tag_[j] = static_cast<char>(transport.config(2 + j, 1));
    log::info("9P: server \"{}\" at {}", server->tag(), device->name());
    servers[server_count++] = server;
  }
  for (u32 i = 0; i < server_count; ++i) {
    if (servers[i]->tag() == tag) return servers[i];
  }
  return Errno::enodev;
}

void Server::poll_all() {
  for (u32 i = 0; i < most_servers; ++i) {
    Server* server = nullptr;
    {
      LockGuard guard{servers_lock};
      if (i < server_count) server = servers[i];
    }
    if (server != nullptr) server->queue_.poll();
  }
}

Result<void> Server::greet(Waiter& waiter) {
  Ref<Operation> done;
  LockGuard guard{greeting_lock_};
  if (greeted_) return {};
  if (!greeting_) greeting_ = Ref<Operation>::adopt(TRY(memory::make<GreetTalk>(*this)));
  const Result<void> answered = greeting_->run(waiter);
  if (!answered.ok() && answered.error() == Errno::blocked) return Errno::blocked;
  greeted_ = answered.ok();
  std::swap(done, greeting_);
  return answered;
}

u16 Server::take_tag() {
  LockGuard guard{lock_};
  for (u32 i = 0; i < most_tags / 64; ++i) {
    const u32 word = (tag_hint_ + i) % (most_tags / 64);
    if (used_tags_[word] == ~u64{0}) continue;
    const u32 bit = static_cast<u32>(__builtin_ctzll(~used_tags_[word]));
    used_tags_[word] |= u64{1} << bit;
    tag_hint_ = word;
    return static_cast<u16>(word * 64 + bit);
  }
  return last_tag_of_all;
}

void Server::give_tag(u16 tag) {
  LockGuard guard{lock_};
  used_tags_[tag / 64] &= ~(u64{1} << tag % 64);
}

void Server::clunk(u32 fid) {
  if (fid == no_fid) return;
  // Without memory the server keeps the fid: it costs it a little, and nobody else anything.
  Result<Ref<Exchange>> made = Exchange::make(*this, Type::clunk, 64, 64);
  if (!made.ok()) return;
  made.value()->request().word32(fid);
  (void)made.value()->send();
}

// ---- exchanges -----------------------------------------------------------------------------------------------------

Exchange::Exchange(Server& server, Type type, u16 tag, u8* memory, u32 request_size, u32 answer_size)
    : server_{server},
      type_{type},
      tag_{tag},
      memory_{memory},
      request_size_{request_size},
      answer_size_{answer_size},
      encoder_{std::span{memory, request_size}} {
  encoder_.begin(type, tag);
}

Result<Ref<Exchange>> Exchange::make(Server& server, Type type, u32 request_size, u32 answer_size) {
  auto* memory = static_cast<u8*>(memory::allocate(request_size + answer_size));
  if (memory == nullptr) return Errno::enomem;
  const u16 tag = type == Type::version ? no_tag : server.take_tag();
  if (tag == no_tag && type != Type::version) {
    memory::release(memory);
    return Errno::enomem;
  }
  auto* made = new (std::nothrow) Exchange(server, type, tag, memory, request_size, answer_size);
  if (made != nullptr) return Ref<Exchange>::adopt(made);
  if (tag != no_tag) server.give_tag(tag);
  memory::release(memory);
  return Errno::enomem;
}

Exchange::~Exchange() {
  if (tag_ != no_tag) server_.give_tag(tag_);
  memory::release(memory_);
}

Result<void> Exchange::send() {
  if (encoder_.overflowed()) return Errno::enametoolong;
  const u32 size = encoder_.finish();
  if (!add_piece(memory_, size, false) || !add_piece(memory_ + request_size_, answer_size_, true)) return Errno::eio;
  retain();  // for the device
  const Result<void> sent = server_.queue().submit(*this);
  if (!sent.ok()) drop();
  return sent;
}

void Exchange::finished(Result<u32> written) {
  {
    LockGuard guard{lock_};
    done_ = true;
    came_ = written.ok() ? written.value() : 0;
    (void)waiters_.wake_all();
  }
  drop();
}

Result<Decoder> Exchange::answer(Waiter& waiter) {
  u32 came = 0;
  {
    LockGuard guard{lock_};
    if (!done_) return waiters_.wait_uninterruptible(waiter);
    came = came_;
  }
  Decoder decoder{std::span<const u8>{memory_ + request_size_, smaller(came, answer_size_)}};
  u32 error = 0;
  if (!check_answer(decoder, came, type_, tag_, error)) return Errno::eio;
  if (error != 0) return error_of(error);
  return decoder;
}

Result<void> Conversation::run(Waiter& waiter) {
  if (!finished_) {
    next_ = 0;
    const Result<void> outcome = talk(waiter);
    if (!outcome.ok() && outcome.error() == Errno::blocked) return Errno::blocked;
    outcome_ = outcome.ok() ? Errno{} : outcome.error();
    finished_ = true;
    for (Ref<Exchange>& exchange : exchanges_) exchange = {};
  }
  if (outcome_ != Errno{}) return outcome_;
  return {};
}

}  // namespace corral::fs::nine
