/// Whether it is too late to send a refresh: a program may be suspended after recording its attempt and before the first byte,
/// while others present the token once the attempt's limit has passed. Backends check it right before the request.
package enum SendingTime {
  @TaskLocal package static var isOver: @Sendable () -> Bool = { false }
}
