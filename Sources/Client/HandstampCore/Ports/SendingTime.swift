/// The time until which a refresh may be sent: a program may be suspended after recording its attempt and before the first byte,
/// while others present the token once the attempt's limit has passed.
package final class SendingTime: Sendable, Hashable {
  private let isOver: @Sendable () -> Bool

  package init(isOver: @escaping @Sendable () -> Bool) { self.isOver = isOver }

  /// Backends call it right before the request.
  ///
  /// - Throws: ``RequestError/network(_:)`` if it is too late to send the request.
  package func check() throws(RequestError) {
    if isOver() { throw .network(.notConnected("the program was suspended before the request was sent")) }
  }

  // It asks a clock, so it equals only itself.
  package static func == (one: SendingTime, other: SendingTime) -> Bool { one === other }
  package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
