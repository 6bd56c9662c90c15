// Whose memory is likely to be in a core's cache: those who ran there lately, each with the pages that it uses. Pure; owner: the
// core.
#pragma once

#include "lib/types.h"
#include "sched/counters.h"

namespace corral::sched {

class CacheUsers {
 public:
  static constexpr u32 most = 8;  // one more replaces the one that ran longest ago
  static constexpr Duration remembered = milliseconds(20);

  // `entity` has run until now. Answers how many pages all of them use together.
  u64 note(const SchedulingEntity& entity, u64 pages, Instant now) {
    User* own = users_;
    for (User& user : users_) {
      if (user.who == &entity) {
        own = &user;
        break;
      }
      if (user.last < own->last) own = &user;
    }
    *own = {&entity, pages, now};
    u64 all = 0;
    for (const User& user : users_) all += now - user.last < remembered ? user.pages : 0;
    return all;
  }

 private:
  struct User {
    const SchedulingEntity* who = nullptr;  // only compared
    u64 pages = 0;
    Instant last{};
  };
  User users_[most];
};

}  // namespace corral::sched
