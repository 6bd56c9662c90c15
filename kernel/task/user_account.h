// A user of the machine as far as the kernel counts what is his: made when the first thread runs as him, gone with the last.
// Any context in which a lock of rank users may be taken; the counts are atomics.
#pragma once

#include "lib/atomic.h"
#include "lib/red_black_tree.h"
#include "lib/ref.h"
#include "lib/result.h"

namespace corral {

class UserAccount final : public RefCounted<UserAccount> {
 public:
  // The one with this number, made if need be. enomem.
  static Result<Ref<UserAccount>> get(u32 number);
  // Root's, which is there for ever.
  static UserAccount& root();

  explicit constexpr UserAccount(u32 number) : number_{number} {}
  [[nodiscard]] u32 number() const { return number_; }
  void last_reference_gone();  // hides RefCounted's: takes it out of the table

  Atomic<u32> threads{0};  // that run as this user (the real one): what RLIMIT_NPROC is about
  Atomic<u64> signals{0};  // that wait for his processes with information: what RLIMIT_SIGPENDING is about
  TreeLink link;           // the table's lock

 private:
  const u32 number_;
};

// Room for the information of one signal, counted for a user as long as it is held.
class SignalRoom {
 public:
  SignalRoom() = default;  // none
  // None when he has `limit` of them already.
  static SignalRoom within(UserAccount& user, u64 limit) {
    SignalRoom room;
    if (user.signals.fetch_add(1, Order::relaxed) < limit) {
      room.user_ = Ref<UserAccount>::share(user);
    } else {
      user.signals.fetch_sub(1, Order::relaxed);
    }
    return room;
  }
  SignalRoom(SignalRoom&& other) noexcept = default;
  SignalRoom& operator=(SignalRoom&& other) noexcept {
    std::swap(user_, other.user_);
    return *this;
  }
  ~SignalRoom() {
    if (user_) user_->signals.fetch_sub(1, Order::relaxed);
  }
  explicit operator bool() const { return static_cast<bool>(user_); }

 private:
  Ref<UserAccount> user_;
};

}  // namespace corral
