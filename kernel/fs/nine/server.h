// A 9P server behind a virtio device: sends requests, and lets steps wait for answers.
// Context: any, where not said otherwise. Neighbours: device/virtio/request_queue.h, fs/nine/message.h.
#pragma once

#include "device/virtio/request_queue.h"
#include "fs/nine/message.h"
#include "fs/step_memory.h"
#include "lib/ref.h"

namespace corral::fs::nine {

// The largest message; the server may want less.
inline constexpr u32 wanted_message_size = 160 << 10;
inline constexpr u32 data_header = 24;  // of a read's answer or a write, at most

class Server {
 public:
  // The device whose mount tag is `tag`, started when it is first asked for. enodev: there is none; eio: it does not work.
  // Boot context or a step.
  static Result<Server*> find(std::string_view tag);
  explicit Server(pci::PciDevice& device) : queue_{device} {}

  [[nodiscard]] virtio::RequestQueue& queue() { return queue_; }
  [[nodiscard]] std::string_view tag() const { return {tag_, tag_size_}; }
  [[nodiscard]] u32 new_fid() { return next_fid_.fetch_add(1, Order::relaxed); }
  // Before the first attach: agrees with the server on the protocol. Once, however often it is mounted, since the server forgets
  // all fids whenever it is greeted. blocked; eio: it speaks another one.
  Result<void> greet(Waiter& waiter) EXCLUDES(greeting_lock_);
  // Forgets a fid at the server; nobody waits for the answer. Any context.
  void clunk(u32 fid);

  // A number that no other request under way has; 0xffff: none is left.
  [[nodiscard]] u16 take_tag() EXCLUDES(lock_);
  void give_tag(u16 tag) EXCLUDES(lock_);
  // Lets all servers' answers in, for who cannot wait for interrupts.
  static void poll_all();

 private:
  static constexpr u32 most_tags = 4096;
  static constexpr u32 longest_tag = 64;

  virtio::RequestQueue queue_;
  char tag_[longest_tag] = {};
  u32 tag_size_ = 0;
  Atomic<u32> next_fid_{1};
  SpinLock greeting_lock_{Rank::file_names, "9P greeting"};
  bool greeted_ GUARDED_BY(greeting_lock_) = false;
  Ref<Operation> greeting_ GUARDED_BY(greeting_lock_);
  SpinLock lock_{Rank::file_server, "9P tags"};
  u64 used_tags_[most_tags / 64] GUARDED_BY(lock_) = {};
  u32 tag_hint_ GUARDED_BY(lock_) = 0;
};

// One request and its answer. Lives until the answer has come, whoever else lets go of it.
class Exchange final : public RefCounted<Exchange>, public virtio::Request {
 public:
  // Room for so many bytes of request and of answer. enomem.
  static Result<Ref<Exchange>> make(Server& server, Type type, u32 request_size, u32 answer_size);
  ~Exchange();

  // The request, behind its header; before send().
  [[nodiscard]] Encoder& request() { return encoder_; }
  // eio: the device has failed; enametoolong: the request does not fit.
  Result<void> send();
  // The answer, behind its header. blocked; the server's error; eio: it is no answer.
  Result<Decoder> answer(Waiter& waiter) EXCLUDES(lock_);

 private:
  Exchange(Server& server, Type type, u16 tag, u8* memory, u32 request_size, u32 answer_size);
  void finished(Result<u32> written) override EXCLUDES(lock_);

  Server& server_;
  const Type type_;
  const u16 tag_;
  u8* const memory_;  // heap: request, then answer
  const u32 request_size_, answer_size_;
  Encoder encoder_;
  SpinLock lock_{Rank::file_server, "9P exchange"};
  WaitQueue waiters_{lock_};
  bool done_ GUARDED_BY(lock_) = false;
  u32 came_ GUARDED_BY(lock_) = 0;
};

// A change or question of several exchanges, each made of the answers before it. run() walks through them from the beginning: those
// that have been answered already are met again, so talk() must go the same way each time.
class Conversation : public Operation {
 public:
  Result<void> run(Waiter& waiter) final;

 protected:
  explicit Conversation(Server& server) : server_{server} {}
  virtual Result<void> talk(Waiter& waiter) = 0;
  // The next exchange of this run. `fill(Encoder&)` writes the request in the first run.
  template <class Fill>
  Result<Decoder> ask(Waiter& waiter, Type type, Fill&& fill, u32 answer_size = 512, u32 request_size = 704) {
    if (next_ == most_exchanges) return Errno::eio;
    Ref<Exchange>& exchange = exchanges_[next_];
    if (!exchange) {
      Ref<Exchange> fresh = TRY(Exchange::make(server_, type, request_size, answer_size));
      fill(fresh->request());
      TRY(fresh->send());
      exchange = fresh;
    }
    Result<Decoder> answer = exchange->answer(waiter);
    if (answer.ok() || answer.error() != Errno::blocked) ++next_;
    return answer;
  }
  Server& server_;

 private:
  static constexpr u32 most_exchanges = 6;
  Ref<Exchange> exchanges_[most_exchanges];
  u32 next_ = 0;
  bool finished_ = false;
  Errno outcome_{};
};

}  // namespace corral::fs::nine
