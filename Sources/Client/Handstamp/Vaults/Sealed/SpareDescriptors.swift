import HandstampSupport

/// Descriptors that are kept open, so that the last files of a save can be opened when the process, or the system, may open no more.
///
/// One is closed right before a file takes its place; that file's descriptor returns to them in place of being closed. Another
/// thread may be faster at one of them, and hardly at all.
final class SpareDescriptors: Sendable {
  /// The most that a save has open at once, with one more for the audit log: the store lock and that of the turn, or the store lock
  /// and the new file.
  static let count = 4

  private let free = Locked<[Int32]>([])

  init(like descriptor: Int32) throws(SystemError) {
    for _ in 0..<SpareDescriptors.count {
      do throws(SystemError) { try add(like: descriptor) } catch {
        closeAll()
        throw error
      }
    }
  }

  deinit { closeAll() }

  /// Returns a descriptor that `attempt` has opened, and the spares that it belongs to if one of them had to go for it.
  static func opening(
    with spares: SpareDescriptors?, _ attempt: () throws(SystemError) -> Int32
  ) throws(SystemError) -> (Int32, SpareDescriptors?) {
    var lender: SpareDescriptors?
    while true {
      do throws(SystemError) { return (try attempt(), lender) } catch {
        guard error.code == EMFILE || error.code == ENFILE, let spares,
          let spare = spares.free.withLock({ $0.popLast() })
        else { throw error }
        close(spare)
        lender = spares
      }
    }
  }

  /// Keeps the descriptor of a file that is not needed any more.
  func takeBack(_ descriptor: Int32) { free.withLock { $0.append(descriptor) } }

  /// Replaces one that was closed.
  func refill(like descriptor: Int32) { try? add(like: descriptor) }

  private func add(like descriptor: Int32) throws(SystemError) {
    let new = try SystemCall.retried("keeping descriptors for a save") { fcntl(descriptor, F_DUPFD_CLOEXEC, 0) }
    free.withLock { $0.append(new) }
  }

  private func closeAll() {
    free.withLock { free in
      for spare in free { close(spare) }
      free = []
    }
  }
}
