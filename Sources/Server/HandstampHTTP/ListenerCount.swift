#if HTTP
/// A number of a listener: of connections, and of what went wrong with them and with certificates.
package enum ListenerCount: Sendable {
  case connections, openConnections, closedIdleConnections, refusedConnections, acceptFailures
  case slowRequests, idleFrames, slowReaders
  case certificatesLoaded, certificatesRefused

  /// Adds to a number; a negative one for a connection that is closed.
  package typealias Add = @Sendable (ListenerCount, Int) -> Void
}
#endif
