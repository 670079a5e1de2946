#if HTTP
package import Foundation

extension Process {
  /// Runs the program to its end. Returns its exit status, -1 if a signal ended it, or `nil` if it was killed because it was still
  /// running after `limit`.
  ///
  /// - Throws: if it cannot be started.
  package func run(within limit: Duration) async throws -> Int32? {
    let (ends, ended) = AsyncStream.makeStream(of: Int32.self)
    terminationHandler = { process in
      ended.yield(process.terminationReason == .exit ? process.terminationStatus : -1)
      ended.finish()
    }
    try run()
    let id = processIdentifier
    let status = await withTaskGroup(of: Int32?.self) { group in
      group.addTask {
        for await status in ends { return status }
        return nil
      }
      group.addTask {
        try? await Task.sleep(for: limit)
        return nil
      }
      defer { group.cancelAll() }
      return await group.next() ?? nil
    }
    // It may have inherited that other signals are blocked.
    if status == nil { kill(id, SIGKILL) }
    return status
  }
}
#endif
