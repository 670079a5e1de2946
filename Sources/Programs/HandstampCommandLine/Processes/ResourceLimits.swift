#if Command
import Foundation
import HandstampCore

/// The limits of this process (`ulimit`) under which it could not create or run its threads, and would crash.
package enum ResourceLimits {
  /// The size of a thread's stack: twice Apple's default.
  private static let stack = 1 << 20
  /// The least address space in which every command works, with a reserve.
  private static let leastAddressSpace: UInt64 = 384 << 20

  /// The files that a command must be able to open: SwiftNIO ends the process where an event loop cannot open its own.
  private static let leastFiles: UInt64 = 24

  /// Call this before the first thread is created.
  ///
  /// - Throws: A refusal if the address space is too small, or too few files may be open.
  package static func arrange() throws(CommandError) {
    #if canImport(Glibc)
    // The default is the limit of the main thread's stack: too small under `ulimit -s 64`, and 8 MiB of address space otherwise.
    // Swift does not import the function that changes it.
    typealias SetDefault = @convention(c) (UnsafePointer<pthread_attr_t>) -> Int32
    if let symbol = dlsym(nil, "pthread_setattr_default_np") {
      let attributes = UnsafeMutablePointer<pthread_attr_t>.allocate(capacity: 1)
      defer { attributes.deallocate() }
      pthread_attr_init(attributes)
      pthread_attr_setstacksize(attributes, stack)
      _ = unsafeBitCast(symbol, to: SetDefault.self)(attributes)
      pthread_attr_destroy(attributes)
    }
    var files = rlimit()
    let needed = UInt64(Inheritance.current.fileCount) + leastFiles
    if getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &files) == 0, files.rlim_cur < needed {
      throw CommandError(
        .failure, "the number of open files is limited to \(files.rlim_cur), and this command needs \(needed)",
        hint: "run: ulimit -n \(needed)")
    }
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit) == 0, limit.rlim_cur != .max else {
      return
    }
    // Each thread would reserve 64 MiB of it for its own allocations, and the next one would have none for its stack.
    shareArena()
    guard limit.rlim_cur < leastAddressSpace else { return }
    throw CommandError(
      .failure,
      "the address space is limited to \(limit.rlim_cur >> 20) MiB, and the threads need \(leastAddressSpace >> 20)",
      hint: "run: ulimit -v \(leastAddressSpace >> 10)")
    #endif
  }

  /// Has all threads allocate from one arena, for a program whose threads allocate little: an arena of its own costs each thread system
  /// calls. Call this before the first thread is created.
  package static func shareArena() {
    #if canImport(Glibc)
    typealias SetOption = @convention(c) (CInt, CInt) -> CInt
    let mostArenas: CInt = -8
    if let symbol = dlsym(nil, "mallopt") { _ = unsafeBitCast(symbol, to: SetOption.self)(mostArenas, 1) }
    #endif
  }
}
#endif
