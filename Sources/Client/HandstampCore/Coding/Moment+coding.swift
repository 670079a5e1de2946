extension Moment {
  package func write(to writer: inout FieldWriter) {
    writer.number(boot)
    writer.number(wall.milliseconds)
    uptime.write(to: &writer)
  }

  /// Returns `nil` unless there are exactly 32 bytes.
  package init?(fields: UnsafeRawBufferPointer) {
    var reader = FieldReader(fields)
    guard let boot = reader.number(UInt64.self), let wall = reader.number(Int64.self),
      let uptime = Duration(reader: &reader), reader.isAtEnd
    else { return nil }
    self.init(boot: boot, uptime: uptime, wall: UnixTime(milliseconds: wall))
  }
}

extension Duration {
  /// The duration, clamped to what both ends support (±292 billion years): the seconds of longer ones overflow 64 bits,
  /// and reading them would trap.
  private var bounded: Duration { Swift.min(Swift.max(self, .seconds(Int64.min)), .seconds(Int64.max)) }

  func write(to writer: inout FieldWriter) {
    let (seconds, attoseconds) = bounded.components
    writer.number(seconds)
    writer.number(attoseconds)
  }

  init?(fields: UnsafeRawBufferPointer) {
    var reader = FieldReader(fields)
    self.init(reader: &reader)
    if !reader.isAtEnd { return nil }
  }

  /// No pair of numbers overflows: 2^63 seconds plus as many attoseconds fit in 128 bits of attoseconds.
  init?(reader: inout FieldReader) {
    guard let seconds = reader.number(Int64.self), let attoseconds = reader.number(Int64.self) else { return nil }
    self = Duration(secondsComponent: seconds, attosecondsComponent: attoseconds).bounded
  }
}
