// One file that an epoll instance watches: the link between an EventPoll and an OpenFile.
//
// A watch keeps its EventPoll alive, and the EventPoll its watches; neither keeps the file alive. The end is settled by the
// word gone_: whoever sets it (EPOLL_CTL_DEL, the end of the file, the end of the epoll instance) takes the watch out of the
// instance. So close() of a watched file needs no search, and no lock is held while a file is asked for its readiness.
//
// Fields say who guards them: "instance" is EventPoll::lock_, "links" the one lock of all lists of watches on files.
// Neighbours: event_poll.h; fs/poll_source.h tells of changes.
#pragma once

#include "fs/poll_source.h"
#include "lib/red_black_tree.h"
#include "lib/ref.h"

namespace corral::fs {

class EventPoll;
class OpenFile;

// struct epoll_event
struct [[gnu::packed]] Event {
  u32 bits;
  u64 data;
};
static_assert(sizeof(Event) == 12);

class EventWatch final : public RefCounted<EventWatch>, public PollListener {
 public:
  EventWatch(EventPoll& owner, OpenFile& file, int descriptor, const Event& event);
  ~EventWatch();

  // The source's lock is held: the file may be ready.
  bool on_change(u32 bits) override;

 private:
  friend class EventPoll;
  friend void forget_watches(OpenFile& file);
  const Ref<EventPoll> owner_;
  OpenFile& file_;  // may be used while a reference is held, or with gone_ false under the instance's lock to get one
  const int descriptor_;
  const bool plain_;       // the file can be asked under the instance's lock
  PollEntry entry_;
  TreeLink tree_link_;     // instance
  ListLink ready_link_;    // instance
  Event event_;            // instance; no bits to ask for: disabled (EPOLLONESHOT)
  u64 changes_ = 0;        // instance: how often on_change() put it on the list
  bool gone_ = false;      // instance
  EventWatch* next_ = nullptr;       // links: of the same file
  EventWatch* previous_ = nullptr;   // links
  bool linked_ = false;              // links
  // Links: the file is an epoll instance itself.
  EventPoll* nested_ = nullptr;
  ListLink nested_link_;   // in the owner's list of what it watches
  ListLink watcher_link_;  // in the nested instance's list of what watches it
};

// The last reference to a file with watches is gone; the file is still whole.
void forget_watches(OpenFile& file);

}  // namespace corral::fs
