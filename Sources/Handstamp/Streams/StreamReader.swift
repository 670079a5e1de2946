import HandstampCore

/// One reader of a live stream. The stream continues until it has ended or the reader is released.
struct StreamReader<Connector: StreamConnector> {
  private var messages: StreamDriver<Connector>.Messages.Iterator
  private let driver: StreamDriver<Connector>

  init(_ connector: Connector, _ controller: SessionController, options: StreamOptions, after id: String?) {
    let (messages, driver) = StreamDriver.start(connector, controller, options: options, after: id)
    self.messages = messages.makeAsyncIterator()
    self.driver = driver
  }

  mutating func next() async throws(SessionError) -> Connector.Message? {
    do { return try await messages.nextHere() } catch { throw SessionError(stream: error) }
  }
}

extension SessionError {
  init(stream error: any Error) { self = error as? SessionError ?? .invalidResponse("\(type(of: error))") }
}
