// Names for clang's thread-safety analysis (-Wthread-safety): the compiler checks that every field that
// says GUARDED_BY is touched only with its lock held. They expand to nothing in other compilers.
#pragma once

#if defined(__clang__)
#define CORRAL_ANNOTATION(x) __attribute__((x))
#else
#define CORRAL_ANNOTATION(x)
#endif

#define CAPABILITY(name) CORRAL_ANNOTATION(capability(name))
#define SCOPED_CAPABILITY CORRAL_ANNOTATION(scoped_lockable)
#define GUARDED_BY(lock) CORRAL_ANNOTATION(guarded_by(lock))
#define POINTEE_GUARDED_BY(lock) CORRAL_ANNOTATION(pt_guarded_by(lock))
#define REQUIRES(...) CORRAL_ANNOTATION(requires_capability(__VA_ARGS__))
#define EXCLUDES(...) CORRAL_ANNOTATION(locks_excluded(__VA_ARGS__))
#define ACQUIRE(...) CORRAL_ANNOTATION(acquire_capability(__VA_ARGS__))
#define TRY_ACQUIRE(...) CORRAL_ANNOTATION(try_acquire_capability(__VA_ARGS__))
#define RELEASE(...) CORRAL_ANNOTATION(release_capability(__VA_ARGS__))
#define RETURN_CAPABILITY(x) CORRAL_ANNOTATION(lock_returned(x))
#define ASSERT_CAPABILITY(x) CORRAL_ANNOTATION(assert_capability(x))
#define NO_THREAD_SAFETY_ANALYSIS CORRAL_ANNOTATION(no_thread_safety_analysis)
