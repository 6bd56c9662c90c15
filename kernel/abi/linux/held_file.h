// The file of a call that may wait. It is looked up in the call's first run and held over its waits, so that another thread
// that closes the descriptor meanwhile, or opens something else there, does not change which file the call is about; and
// whoever is woken to use the file does use it.
#pragma once

#include "abi/linux/file_handlers.h"

namespace corral::abi {

class HeldFile {
 public:
  // The one of which argument `index` is the descriptor; a call with two of them keeps the other in another word of its step. ebadf.
  static Result<HeldFile> take(Call& call, unsigned index, unsigned word = 5) {
    HeldFile held{word};
    if (u64& kept = call.thread.step.word[word]; kept != 0) {
      held.file_ = Ref<fs::OpenFile>::adopt(reinterpret_cast<fs::OpenFile*>(std::exchange(kept, 0)));
    } else {
      held.file_ = TRY(file_at(call, index));
    }
    return Result<HeldFile>{std::move(held)};
  }
  // The call's answer; when that is blocked the file is kept for the next run.
  Result<i64> answer(Call& call, Result<i64> outcome) {
    if (!outcome.ok() && outcome.error() == Errno::blocked) {
      call.thread.step.word[word_] = reinterpret_cast<u64>(file_.release());
    }
    return outcome;
  }
  [[nodiscard]] fs::OpenFile& operator*() const { return *file_; }
  fs::OpenFile* operator->() const { return file_.get(); }

 private:
  explicit HeldFile(unsigned word) : word_{word} {}
  Ref<fs::OpenFile> file_;
  unsigned word_;  // of the thread's StepState
};

}  // namespace corral::abi
