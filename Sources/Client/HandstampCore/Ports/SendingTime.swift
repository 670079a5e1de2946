/// Whether it is too late to send a refresh: a program may be suspended after recording its attempt and before the first byte,
/// while others present the token once the attempt's limit has passed. Backends check it right before the request.
package struct SendingTime: Sendable {
  /// Not the function alone: as a task-local value that crashes in the release build (Swift 6.3 on Linux).
  @TaskLocal package static var current = SendingTime { false }

  package let isOver: @Sendable () -> Bool

  package init(isOver: @escaping @Sendable () -> Bool) { self.isOver = isOver }
}
