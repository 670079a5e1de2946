#if HTTP
import HandstampSupport
import Logging

/// The certificate in use, which follows its files.
package final class TLSIdentity: Sendable {
  private struct Content: Sendable {
    var context: SecureContext
    /// The files that were last read, whether they could be used or not.
    var stamp: [TLSFiles.FileStamp]
    /// Whether they could not be used.
    var isRefused = false
  }

  let files: TLSFiles
  private let content: Locked<Content>
  private let count: ListenerCount.Add
  private let logger: Logger

  init(_ files: TLSFiles, count: @escaping ListenerCount.Add, logger: Logger) throws(ListenError) {
    self.files = files
    self.count = count
    self.logger = logger
    // The stamp first: a change in between is then seen as one.
    let stamp = files.stamp
    content = Locked(Content(context: try files.context(), stamp: stamp))
  }

  /// The certificate of new connections.
  var context: SecureContext { content.withLock { $0.context } }

  /// Reads the files again at every change, until the task is cancelled.
  func follow() async {
    while (try? await Task.sleep(for: files.interval)) != nil { reload() }
  }

  /// Reads the files if they have changed.
  ///
  /// - Parameter isAsked: reads them in any case, as an operator has asked for: files that cannot be used are logged again.
  package func reload(isAsked: Bool = false) {
    let (stamp, previous) = (files.stamp, content.withLock { $0 })
    guard stamp != previous.stamp || isAsked else { return }
    do throws(ListenError) {
      let context = try files.context()
      content.withLock { $0 = Content(context: context, stamp: stamp) }
      // Files that a server may read since have the same stamp.
      guard stamp != previous.stamp || previous.isRefused else { return }
      count(.certificatesLoaded, 1)
      logger.notice("New certificate in use", metadata: ["handstamp.file": "\(files.certificate)"])
    } catch {
      // Half of a change, perhaps: the next look sees the rest.
      content.withLock { ($0.stamp, $0.isRefused) = (stamp, true) }
      count(.certificatesRefused, 1)
      logger.error(
        "New certificate not usable; the former one stays in use", metadata: ["handstamp.cause": "\(error)"])
    }
  }
}
#endif
