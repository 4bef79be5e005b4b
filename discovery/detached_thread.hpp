// A thread that nobody waits for: for calls that may hang and that nothing can interrupt.
//
// Invariants:
//  1. Every signal is blocked there: signals are for the main thread.
//  2. The body owns what it touches. It may still run when the process ends, and delays that not.
//
// Thread rule: any thread. Source: pthread_attr_setstacksize(3); a small stack also escapes
// transparent huge pages.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace lastcall::discovery {

constexpr std::size_t kSmallStack = std::size_t{512} * 1024;

/// False if no thread can be had; then the body does not run.
bool start_detached_thread(std::string const& name, std::size_t stack_size,
                           std::function<void()> body);

}  // namespace lastcall::discovery
