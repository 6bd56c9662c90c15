// Questions to a 9P server that change nothing there but fids. Each is kept by the object that it is about, so that several threads
// can wait for one answer; that object's lock is held in run(). What becomes of the answer is up to the object.
#pragma once

#include "device/clock.h"
#include "fs/nine/server.h"
#include "memory/frame.h"

namespace corral::fs::nine {

// The fid of another file, and what the file is.
class LookupTalk final : public Conversation {
 public:
  // `name` stays as long as the talk; empty: the file of `from` itself.
  LookupTalk(Server& server, u32 from, std::string_view name)
      : Conversation{server}, from_{from}, name_{name}, fid{server.new_fid()} {}

 private:
  Result<void> talk(Waiter& waiter) override;
  const u32 from_;
  const std::string_view name_;

 public:
  const u32 fid;
  const Instant asked = clock::now();
  FileAttributes attributes;
};

// A fid through which the file of another one is open.
class OpenTalk final : public Conversation {
 public:
  OpenTalk(Server& server, u32 from, u32 flags) : Conversation{server}, from_{from}, flags_{flags}, fid{server.new_fid()} {}

 private:
  Result<void> talk(Waiter& waiter) override;
  const u32 from_, flags_;

 public:
  const u32 fid;
};

// Some names of a directory, from a position on.
class ListTalk final : public Conversation {
 public:
  // `open`: a fid through which the directory is open; no_fid: one is made from `directory`.
  ListTalk(Server& server, u32 directory, u32 open, u64 position)
      : Conversation{server},
        directory_{directory},
        opens_{open == no_fid},
        fid{opens_ ? server.new_fid() : open},
        position{position} {}
  ~ListTalk() override;
  [[nodiscard]] Decoder names() const;

 private:
  Result<void> talk(Waiter& waiter) override;
  const u32 directory_;
  const bool opens_;
  Frame* page_ = nullptr;
  u32 size_ = 0;

 public:
  const u32 fid;
  const u64 position;
};

class ReadLinkTalk final : public Conversation {
 public:
  ReadLinkTalk(Server& server, u32 fid) : Conversation{server}, fid_{fid} {}
  ~ReadLinkTalk() override;
  [[nodiscard]] std::string_view text() const { return {text_, size_}; }

 private:
  Result<void> talk(Waiter& waiter) override;
  const u32 fid_;
  char* text_ = nullptr;  // heap
  u64 size_ = 0;
};

class StatisticsTalk final : public Conversation {
 public:
  StatisticsTalk(Server& server, u32 fid) : Conversation{server}, fid_{fid} {}
  FileSystemStatistics found;

 private:
  Result<void> talk(Waiter& waiter) override;
  const u32 fid_;
};

}  // namespace corral::fs::nine
